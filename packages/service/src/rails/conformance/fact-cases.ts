import { Amount } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { RailFact, RailInstruction } from '../port.ts'
import { acceptAll, eventually, type RailsProcess, startProcess } from './rails-process.ts'
import type { RailsSubject, RetriedPayments } from './rails-subject.ts'

/** Declares the cases about the facts that rails report. */
export function describeFacts(subject: RailsSubject): void {
  describe('facts', () => {
    describeOutcomes(subject)
    if (subject.retriedPayments !== undefined) describeRetries(subject, subject.retriedPayments)
    describeReporting(subject)
    describeProcesses(subject)
  })
}

function describeOutcomes(subject: RailsSubject): void {
  it('report that a payment has settled, with the transfer, the account and the amount', async () => {
    const process = await startProcess(subject)
    const instruction = subject.instruct()
    const { transferId, accountId, reference } = await submitOne(process, instruction)
    await subject.settle(transferId)
    const fact = await process.waitFor(transferId, 'settled')
    expect(fact).toMatchObject({ reference, transferId, accountId, failure: null })
    expect(Amount.equals(Amount.parse(fact.amount), instruction.amount)).toBe(true)
    await reads(subject, process, fact)
  })

  it('of one payment arrive in order', async () => {
    const process = await startProcess(subject)
    const submitted = await Promise.all(Array.from({ length: 5 }, () => submitOne(process, subject.instruct())))
    await Promise.all(submitted.map(({ transferId }) => subject.settle(transferId)))
    for (const { transferId } of submitted) {
      await process.waitFor(transferId, 'settled')
      expect(withoutAccepted(process, transferId)).toEqual(['settled'])
    }
  })

  it.runIf(subject.reject)('report why a payment was rejected', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, subject.instruct())
    await subject.reject?.(transferId)
    const fact = await process.waitFor(transferId, 'rejected')
    expect(fact.reference).toBe(reference)
    expectFailure(fact)
    expect(withoutAccepted(process, transferId)).toEqual(['rejected'])
    await reads(subject, process, fact)
  })

  it.runIf(subject.returnPayment)('report that a settled payment was returned, and why', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, subject.instruct())
    await subject.settle(transferId)
    await reads(subject, process, await process.waitFor(transferId, 'settled'))
    await subject.returnPayment?.(transferId)
    const fact = await process.waitFor(transferId, 'returned')
    expect(fact.reference).toBe(reference)
    expectFailure(fact)
    expect(withoutAccepted(process, transferId)).toEqual(['settled', 'returned'])
    await reads(subject, process, fact)
  })
}

function describeRetries(subject: RailsSubject, retried: RetriedPayments): void {
  it('report that a payment continues after a retriable failure, and since when', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, retried.instruct())
    await retried.fail(transferId)
    const isFailure = ({ kind }: RailFact) => kind === 'rejected' || kind === 'returned'
    const ofTransfer = () => process.reported.filter((fact) => fact.transferId === transferId)
    await eventually(subject, () => expect(ofTransfer().filter(isFailure)).not.toEqual([]))
    const failed = ofTransfer().find(isFailure)
    expect(failed).toMatchObject({ reference, failure: { retriable: true } })
    if (retried.letRetry !== undefined && failed !== undefined) {
      await reads(subject, process, failed)
      await retried.letRetry()
    }
    const isRetry = (fact: RailFact, index: number, all: readonly RailFact[]) =>
      fact.kind === 'accepted' && all.slice(0, index).some(isFailure)
    await eventually(subject, () => expect(ofTransfer().filter(isRetry)).not.toEqual([]))
    const [again] = ofTransfer().filter(isRetry)
    expect(again).toMatchObject({ reference, failure: null })
    expect(Date.parse(again?.reachedAt ?? '')).toBeGreaterThan(Date.parse(failed?.failure?.occurredAt ?? ''))
    await eventually(subject, async () => expect(await process.get(reference)).toMatchObject({ state: 'accepted' }))
    await subject.settle(transferId)
    await process.waitFor(transferId, 'settled')
    expect(withoutAccepted(process, transferId)).toEqual([failed?.kind, 'accepted', 'settled'])
  })
}

function describeReporting(subject: RailsSubject): void {
  it('that are not accepted are reported again', async () => {
    const left = new Set<string>()
    const process = await startProcess(subject, {
      accept: async (given) => {
        const references = given.map(({ reference }) => reference)
        return new Set(references.filter((reference) => !left.delete(reference)))
      },
    })
    const [one, other] = [await submitOne(process, subject.instruct()), await submitOne(process, subject.instruct())]
    left.add(other.reference)
    await Promise.all([subject.settle(one.transferId), subject.settle(other.transferId)])
    await process.waitFor(one.transferId, 'settled')
    await eventually(subject, () => expect(timesReported(process, other.transferId)).toBeGreaterThan(1))
  })

  it('are all reported again to a listener that rejects', async () => {
    let failures = 3
    const watched = new Set<string>()
    const accepted: RailFact[] = []
    const process = await startProcess(subject, {
      accept: async (given) => {
        if (given.some(({ transferId }) => watched.has(transferId)) && failures-- > 0) throw new Error('Not now.')
        accepted.push(...given)
        return acceptAll(given)
      },
    })
    const submitted = [await submitOne(process, subject.instruct()), await submitOne(process, subject.instruct())]
    for (const { transferId } of submitted) watched.add(transferId)
    await Promise.all(submitted.map(({ transferId }) => subject.settle(transferId)))
    for (const { transferId } of submitted) {
      const isAccepted = (fact: RailFact) => fact.transferId === transferId && fact.kind === 'settled'
      await eventually(subject, () => expect(accepted.some(isAccepted)).toBe(true))
    }
    expect(failures).toBeLessThanOrEqual(0)
  })
}

function describeProcesses(subject: RailsSubject): void {
  it('are no longer reported after a stop, and go to the next process', async () => {
    const first = await startProcess(subject)
    const { transferId, accountId, reference } = await submitOne(first, subject.instruct())
    await first.rails.stop()
    await first.rails.stop()
    const before = first.reported.length
    await subject.settle(transferId)
    const next = await startProcess(subject)
    expect(await next.waitFor(transferId, 'settled')).toMatchObject({ reference, accountId })
    expect(first.reported).toHaveLength(before)
  })

  it('of the current batch are accepted before a stop ends', async () => {
    const watched = new Set<string>()
    const inHand = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    let isAccepted = false
    const process = await startProcess(subject, {
      accept: async (given) => {
        if (!given.some((fact) => watched.has(fact.transferId))) return acceptAll(given)
        inHand.resolve()
        await finish.promise
        isAccepted = true
        return acceptAll(given)
      },
    })
    const { transferId } = await submitOne(process, subject.instruct())
    watched.add(transferId)
    await subject.settle(transferId)
    await inHand.promise
    const stopping = process.rails.stop().then(() => isAccepted)
    finish.resolve()
    expect(await stopping).toBe(true)
  })

  it('and references outlive the process that submitted', async () => {
    const first = await startProcess(subject)
    const instruction = subject.instruct()
    const reference = await first.submit(instruction)
    await first.rails.stop()
    const next = await startProcess(subject)
    expect(await next.get(reference)).toMatchObject({ reference, state: 'accepted' })
    expect(await next.submit(instruction)).toBe(reference)
    await subject.settle(instruction.transferId)
    expect(await next.waitFor(instruction.transferId, 'settled')).toMatchObject({ reference })
  })
}

async function submitOne({ submit }: RailsProcess, instruction: RailInstruction) {
  const { transferId, accountId } = instruction
  return { transferId, accountId, reference: await submit(instruction) }
}

function timesReported({ reported }: RailsProcess, transferId: string): number {
  return reported.filter((fact) => fact.transferId === transferId).length
}

/** An accepted submission may also be reported as a fact. If so, it is the first. */
function withoutAccepted({ kindsOf }: RailsProcess, transferId: string): readonly RailFact['kind'][] {
  const kinds = kindsOf(transferId)
  return kinds[0] === 'accepted' ? kinds.slice(1) : kinds
}

/** A read eventually returns the reported state. */
/** Where a rail answers polls with an amount, a poll ends the transfer only when it is that of the fact. */
async function reads(subject: RailsSubject, { get }: RailsProcess, fact: RailFact) {
  const { reference, kind, failure, amount } = fact
  await eventually(subject, async () => {
    const payment = await get(reference)
    expect(payment).toMatchObject({ reference, state: kind, failure })
    if (payment?.amount !== undefined) expect(Amount.equals(payment.amount, amount)).toBe(true)
  })
}

function expectFailure({ failure }: RailFact): void {
  expect(failure).toMatchObject({ code: expect.stringMatching(/./), detail: expect.stringMatching(/./) })
  expect(Date.parse(failure?.occurredAt ?? '')).not.toBeNaN()
}
