import { describe, expect, it } from 'vitest'
import type { RailInstruction } from '../port.ts'
import { eventually, type RailsProcess, signalled, startProcess } from './rails-process.ts'
import type { InboundWires, RailsSubject } from './rails-subject.ts'

const beneficiary = { name: 'Acme Incorporated', address: '1 Main Street, Springfield, IL 62701' }

/** Asks for the instructions of an inbound wire. */
export const announce = ({ rails }: RailsProcess, instruction: RailInstruction) =>
  rails.wireInstructions(instruction, beneficiary, signalled())

/** Declares the cases about inbound wires. */
export function describeInboundWires(subject: RailsSubject, wires: InboundWires): void {
  describe('inbound wires', () => {
    it('have instructions that name the bank, the account and the beneficiary', async () => {
      const process = await startProcess(subject)
      const instructions = await announce(process, wires.instruct())
      expect(instructions).toMatchObject({ beneficiaryName: beneficiary.name, beneficiaryAddress: beneficiary.address })
      expect(instructions.bankName).not.toBe('')
      expect(instructions.accountNumber).not.toBe('')
      expect(instructions.routingNumber).toMatch(/^\d{9}$/)
    })

    it('of several transfers are distinguishable', async () => {
      const process = await startProcess(subject)
      const all = await Promise.all(Array.from({ length: 5 }, () => announce(process, wires.instruct())))
      expect(new Set(all.map(({ accountNumber, memo }) => JSON.stringify([accountNumber, memo]))).size).toBe(5)
    })

    it('are expected, then accepted when they arrive, then settled', async () => {
      const process = await startProcess(subject)
      const instruction = wires.instruct()
      await announce(process, instruction)
      const { transferId } = instruction
      const answer = await eventually(subject, async () => {
        const given = await process.rails.submit(instruction, signalled())
        expect(given.outcome).toBe('expected')
        return given
      })
      const reference = await process.submit(instruction)
      expect(answer).toEqual({ outcome: 'expected', reference })
      expect(await process.get(reference)).toMatchObject({ reference, state: 'expected', failure: null })
      expect(process.kindsOf(transferId)).toEqual([])
      await wires.arrive(transferId)
      // Money of a bank is in the currency of the bank, whatever it becomes.
      const amount = { currency: instruction.source.valueType }
      expect(await process.waitFor(transferId, 'accepted')).toMatchObject({ reference, failure: null, amount })
      await eventually(subject, async () => expect(await process.get(reference)).toMatchObject({ state: 'accepted' }))
      await subject.settle(transferId)
      expect(await process.waitFor(transferId, 'settled')).toMatchObject({ reference, failure: null, amount })
      expect(process.kindsOf(transferId)).toEqual(['accepted', 'settled'])
    })
  })
}
