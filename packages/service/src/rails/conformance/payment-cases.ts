import { describe, expect, it } from 'vitest'
import { eventually, signalled, startProcess } from './rails-process.ts'
import type { RailsSubject } from './rails-subject.ts'

/** Declares the cases about calls of rails: validation, submission, reading. */
export function describePayments(subject: RailsSubject): void {
  describe('payments', () => {
    it('have one reference, however often they are submitted', async () => {
      const { submit, rails } = await startProcess(subject)
      const instruction = subject.instruct()
      const reference = await submit(instruction)
      expect(reference).not.toBe('')
      expect(await submit(instruction)).toBe(reference)
      expect(await submit(structuredClone(instruction))).toBe(reference)
      expect(await rails.validate(instruction, signalled())).toBeUndefined()
    })

    it('have one reference when two processes submit them 20 times at once', async () => {
      const processes = [await startProcess(subject), await startProcess(subject)]
      const instruction = subject.instruct()
      const submissions = Array.from({ length: 10 }, () => processes.map(({ submit }) => submit(instruction)))
      const references = new Set(await Promise.all(submissions.flat()))
      expect(references.size).toBe(1)
      await subject.settle(instruction.transferId)
      const reported = () =>
        processes.flatMap((one) => one.reported).filter((one) => one.transferId === instruction.transferId)
      await eventually(subject, () => expect(reported()).not.toEqual([]))
      expect(new Set(reported().map(({ reference }) => reference))).toEqual(references)
    })

    it('of several transfers have references of their own', async () => {
      const { submit } = await startProcess(subject)
      const references = await Promise.all(Array.from({ length: 20 }, () => submit(subject.instruct())))
      expect(new Set(references).size).toBe(20)
    })

    it('are read once they are submitted, in every process, and not before', async () => {
      const [one, other] = [await startProcess(subject), await startProcess(subject)]
      expect(await one.get(`never-${subject.instruct().transferId}`)).toBeUndefined()
      const reference = await one.submit(subject.instruct())
      const payment = { reference, state: 'accepted', failure: null }
      expect(await one.get(reference)).toMatchObject(payment)
      expect(await other.get(reference)).toMatchObject(payment)
    })

    it('do not come about by validation', async () => {
      const { rails, submit, waitFor, reported } = await startProcess(subject)
      const [validated, submitted] = [subject.instruct(), subject.instruct()]
      expect(await rails.validate(validated, signalled())).toBeUndefined()
      expect(await rails.validate(validated, signalled())).toBeUndefined()
      await submit(submitted)
      await expect(subject.settle(validated.transferId)).rejects.toThrow()
      await subject.settle(submitted.transferId)
      await waitFor(submitted.transferId, 'settled')
      expect(reported.filter(({ transferId }) => transferId === validated.transferId)).toEqual([])
    })

    it.runIf(subject.instructRefused)('are refused by validation with a code, a field and a reason', async () => {
      const { rails } = await startProcess(subject)
      const refused = subject.instructRefused?.() ?? subject.instruct()
      const refusal = await rails.validate(refused, signalled())
      expect(refusal?.code).toMatch(/^(invalid_(account_number|routing_number|address)|rejected_by_service)$/)
      expect(refusal?.field).toMatch(/^(source|destination|amount|brand)\b/)
      expect(refusal?.detail).not.toBe('')
      expect(await rails.validate(refused, signalled())).toEqual(refusal)
    })
  })
}
