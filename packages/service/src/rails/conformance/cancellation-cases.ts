import { describe, expect, it } from 'vitest'
import { eventually, type RailsProcess, signalled, startProcess } from './rails-process.ts'
import type { InboundWires, RailsSubject } from './rails-subject.ts'
import { announce } from './wire-cases.ts'

/** Declares the case about cancellations of what is in progress. */
export function describeCancellations(subject: RailsSubject): void {
  describe('payments', () => {
    it('in progress are not canceled, nor those that do not exist', async () => {
      const { rails, submit, get } = await startProcess(subject)
      const instruction = subject.instruct()
      const reference = await submit(instruction)
      expect(await rails.cancel(instruction.transferId, signalled())).toEqual({ outcome: 'refused' })
      expect(await get(reference)).toMatchObject({ state: 'accepted' })
      expect(await rails.cancel(subject.instruct().transferId, signalled())).toEqual({ outcome: 'refused' })
    })

    it.runIf(subject.retriedPayments)('that may be tried again are canceled or go on, and read so', async () => {
      const { rails, submit, get, reported } = await startProcess(subject)
      const instruction = subject.retriedPayments?.instruct() ?? subject.instruct()
      const { transferId } = instruction
      const reference = await submit(instruction)
      await subject.retriedPayments?.fail(transferId)
      const hasFailed = () =>
        reported.some((fact) => fact.transferId === transferId && fact.failure?.retriable === true)
      await eventually(subject, () => expect(hasFailed()).toBe(true))
      const answer = await rails.cancel(transferId, signalled())
      expect(await rails.cancel(transferId, signalled())).toEqual(answer)
      await subject.retriedPayments?.letRetry?.()
      expect((await get(reference))?.state === 'canceled').toBe(answer.outcome === 'canceled')
    })
  })
}

/** Declares the cases about cancellations of inbound wires. */
export function describeCanceledWires(subject: RailsSubject, wires: InboundWires): void {
  describe('inbound wires', () => {
    it('are canceled once they are announced, also before their submission, and read so in every process', async () => {
      const [one, other] = [await startProcess(subject), await startProcess(subject)]
      const instruction = wires.instruct()
      await announce(one, instruction)
      const cancel = ({ rails }: RailsProcess) => rails.cancel(instruction.transferId, signalled())
      expect(await cancel(one)).toEqual({ outcome: 'canceled' })
      expect(await cancel(other)).toEqual({ outcome: 'canceled' })
      const answer = await other.rails.submit(instruction, signalled())
      expect(answer.outcome).toBe('expected')
      const reference = await one.submit(instruction)
      expect(await one.get(reference)).toMatchObject({ reference, state: 'canceled', failure: null })
      await wires.arrive(instruction.transferId).catch(() => undefined)
      expect(await other.get(reference)).toMatchObject({ state: 'canceled' })
      expect(one.kindsOf(instruction.transferId)).not.toContain('accepted')
    })

    it('that have arrived are not canceled, and settle', async () => {
      const process = await startProcess(subject)
      const instruction = wires.instruct()
      const { transferId } = instruction
      await announce(process, instruction)
      await process.submit(instruction)
      await wires.arrive(transferId)
      expect(await process.rails.cancel(transferId, signalled())).toEqual({ outcome: 'refused' })
      await process.waitFor(transferId, 'accepted')
      expect(await process.rails.cancel(transferId, signalled())).toEqual({ outcome: 'refused' })
      await subject.settle(transferId)
      await process.waitFor(transferId, 'settled')
    })
  })
}
