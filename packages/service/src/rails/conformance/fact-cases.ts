import { describe, expect, it } from 'vitest'
import type { RailFact, RailInstruction } from '../port.ts'
import { eventually, type RailsProcess, startProcess, takeAll } from './rails-process.ts'
import type { RailsSubject, RetriedPayments } from './rails-subject.ts'

/** Declares the cases about the facts that rails tell. */
export function describeFacts(subject: RailsSubject): void {
  describe('facts', () => {
    describeOutcomes(subject)
    if (subject.retriedPayments !== undefined) describeRetries(subject, subject.retriedPayments)
    describeTelling(subject)
    describeProcesses(subject)
  })
}

function describeOutcomes(subject: RailsSubject): void {
  it('say that a payment has settled, with the transfer and the account', async () => {
    const process = await startProcess(subject)
    const { transferId, accountId, reference } = await submitOne(process, subject.instruct())
    await subject.settle(transferId)
    const fact = await process.hears(transferId, 'settled')
    expect(fact).toMatchObject({ reference, transferId, accountId, failure: null })
    await reads(subject, process, fact)
  })

  it('of one payment come in order', async () => {
    const process = await startProcess(subject)
    const submitted = await Promise.all(Array.from({ length: 5 }, () => submitOne(process, subject.instruct())))
    await Promise.all(submitted.map(({ transferId }) => subject.settle(transferId)))
    for (const { transferId } of submitted) {
      await process.hears(transferId, 'settled')
      expect(withoutAccepted(process, transferId)).toEqual(['settled'])
    }
  })

  it.runIf(subject.reject)('say why a payment was rejected', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, subject.instruct())
    await subject.reject?.(transferId)
    const fact = await process.hears(transferId, 'rejected')
    expect(fact.reference).toBe(reference)
    expectFailure(fact)
    expect(withoutAccepted(process, transferId)).toEqual(['rejected'])
    await reads(subject, process, fact)
  })

  it.runIf(subject.returnPayment)('say that a settled payment has come back, and why', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, subject.instruct())
    await subject.settle(transferId)
    await reads(subject, process, await process.hears(transferId, 'settled'))
    await subject.returnPayment?.(transferId)
    const fact = await process.hears(transferId, 'returned')
    expect(fact.reference).toBe(reference)
    expectFailure(fact)
    expect(withoutAccepted(process, transferId)).toEqual(['settled', 'returned'])
    await reads(subject, process, fact)
  })
}

function describeRetries(subject: RailsSubject, retried: RetriedPayments): void {
  it('say that a payment goes on after a failure that was retriable, and since when', async () => {
    const process = await startProcess(subject)
    const { transferId, reference } = await submitOne(process, retried.instruct())
    await retried.fail(transferId)
    const isFailure = ({ kind }: RailFact) => kind === 'rejected' || kind === 'returned'
    const ofTransfer = () => process.told.filter((fact) => fact.transferId === transferId)
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
    await process.hears(transferId, 'settled')
    expect(withoutAccepted(process, transferId)).toEqual([failed?.kind, 'accepted', 'settled'])
  })
}

function describeTelling(subject: RailsSubject): void {
  it('that are not taken are told again', async () => {
    const left = new Set<string>()
    const process = await startProcess(subject, {
      take: async (given) => {
        const references = given.map(({ reference }) => reference)
        return new Set(references.filter((reference) => !left.delete(reference)))
      },
    })
    const [one, other] = [await submitOne(process, subject.instruct()), await submitOne(process, subject.instruct())]
    left.add(other.reference)
    await Promise.all([subject.settle(one.transferId), subject.settle(other.transferId)])
    await process.hears(one.transferId, 'settled')
    await eventually(subject, () => expect(timesTold(process, other.transferId)).toBeGreaterThan(1))
  })

  it('are all told again to a listener that rejects', async () => {
    let failures = 3
    const watched = new Set<string>()
    const taken: RailFact[] = []
    const process = await startProcess(subject, {
      take: async (given) => {
        if (given.some(({ transferId }) => watched.has(transferId)) && failures-- > 0) throw new Error('Not now.')
        taken.push(...given)
        return takeAll(given)
      },
    })
    const submitted = [await submitOne(process, subject.instruct()), await submitOne(process, subject.instruct())]
    for (const { transferId } of submitted) watched.add(transferId)
    await Promise.all(submitted.map(({ transferId }) => subject.settle(transferId)))
    for (const { transferId } of submitted) {
      const isTaken = (fact: RailFact) => fact.transferId === transferId && fact.kind === 'settled'
      await eventually(subject, () => expect(taken.some(isTaken)).toBe(true))
    }
    expect(failures).toBeLessThanOrEqual(0)
  })
}

function describeProcesses(subject: RailsSubject): void {
  it('are no longer told after a stop, and go to the next process', async () => {
    const first = await startProcess(subject)
    const { transferId, accountId, reference } = await submitOne(first, subject.instruct())
    await first.rails.stop()
    await first.rails.stop()
    const before = first.told.length
    await subject.settle(transferId)
    const next = await startProcess(subject)
    expect(await next.hears(transferId, 'settled')).toMatchObject({ reference, accountId })
    expect(first.told).toHaveLength(before)
  })

  it('of a batch in hand are taken before a stop ends', async () => {
    const watched = new Set<string>()
    const inHand = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    let isTaken = false
    const process = await startProcess(subject, {
      take: async (given) => {
        if (!given.some((fact) => watched.has(fact.transferId))) return takeAll(given)
        inHand.resolve()
        await finish.promise
        isTaken = true
        return takeAll(given)
      },
    })
    const { transferId } = await submitOne(process, subject.instruct())
    watched.add(transferId)
    await subject.settle(transferId)
    await inHand.promise
    const stopping = process.rails.stop().then(() => isTaken)
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
    expect(await next.hears(instruction.transferId, 'settled')).toMatchObject({ reference })
  })
}

async function submitOne({ submit }: RailsProcess, instruction: RailInstruction) {
  const { transferId, accountId } = instruction
  return { transferId, accountId, reference: await submit(instruction) }
}

function timesTold({ told }: RailsProcess, transferId: string): number {
  return told.filter((fact) => fact.transferId === transferId).length
}

/** An accepted submission may be told as a fact too; if so, first. */
function withoutAccepted({ kindsOf }: RailsProcess, transferId: string): readonly RailFact['kind'][] {
  const kinds = kindsOf(transferId)
  return kinds[0] === 'accepted' ? kinds.slice(1) : kinds
}

/** Reading says sooner or later what was told. */
async function reads(subject: RailsSubject, { get }: RailsProcess, { reference, kind, failure }: RailFact) {
  await eventually(subject, async () => expect(await get(reference)).toMatchObject({ reference, state: kind, failure }))
}

function expectFailure({ failure }: RailFact): void {
  expect(failure).toMatchObject({ code: expect.stringMatching(/./), detail: expect.stringMatching(/./) })
  expect(Date.parse(failure?.occurredAt ?? '')).not.toBeNaN()
}
