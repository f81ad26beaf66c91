import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testPayments } from '../../test/payments.ts'
import { back, drawn, imad, moved, refused, reportedTransfers, usd } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { listRailExceptions } from '../rail-exceptions/rail-exceptions.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import { readPaymentFact } from '../rail-facts/payment-fact.ts'
import { recordFact } from '../rail-facts/rail-facts.ts'
import { cancelTransferWithoutWire } from './cancellation.ts'
import { applyStored } from './facts.ts'
import { advanceTransfers } from './progress.ts'

// A wire that a person gives to a second transfer is no more that of the first one, whatever is said of that from then on.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
let payments: ReturnType<typeof testPayments>
beforeAll(async () => {
  api = await testSandbox(database.url)
  transfers = await reportedTransfers(api)
  payments = testPayments(api)
})
beforeEach(() => transfers.mark())
afterAll(() => api.stop())

type Begun = Awaited<ReturnType<typeof transfers.begin>>
const beginTwo = async () => [await transfers.begin('wire'), await transfers.begin('wire')] as const
/** Two transfers, and a wire that was that of the first one and is given to the second one, or is about to be. */
const report = async () => {
  const [first, second] = await beginTwo()
  const mark = drawn(`A${first.id}`)
  await first.say('accepted', '100', mark)
  await first.reaches('processing')
  await second.say('accepted', '100', mark)
  return { first, second, mark }
}
const give = async () => {
  const reported = await report()
  await reported.second.decide(0, 'apply')
  return reported
}
const openOf = async (one: Begun) => (await payments.exceptions({ transferId: one.id })).map(({ id }) => id)
const completeLate = async ({ id }: Begun) => {
  const { context } = api.sandbox.service
  const step = { id, type: 'transfer.completed', failure: null, reference: null } as const
  return await inTransaction(context, (tx) => advanceTransfers(tx, context, [step]))
}
describe('a wire that is given back', () => {
  it.each([
    ['with its mark', true],
    ['without it', false],
  ])('by a report %s is credited to the first transfer alone', async (_, isMarked) => {
    const { first, second, mark } = await give()
    await first.say('settled', '100', isMarked ? mark : {})
    expect(await first.open()).toEqual(['accepted 100 reused_mark', 'settled 100 reused_mark'])
    await first.decide(1, 'apply')
    await first.reaches('complete')
    await first.say('accepted', '100', mark)
    expect(await first.open()).toEqual([])
    await second.say('settled', '100', mark)
    expect(await second.open()).toEqual(['accepted 100 reused_mark', 'settled 100 reused_mark'])
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('goes on by its further reports', async () => {
    const { first, mark } = await give()
    await first.decide(0, 'apply')
    await first.say('settled', '100', mark)
    await first.reaches('complete')
    expect(await first.open()).toEqual([])
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('says who had it, and what was decided about that', async () => {
    const { first, second } = await give()
    await first.decide(0, 'apply')
    const [held] = await payments.exceptions({ transferId: second.id })
    expect(held?.payload).toMatchObject({
      markOwner: first.id,
      earlierResolutions: [{ action: 'applied', by: 'ops@example.com', note: null, at: expect.any(String) }],
    })
  })
})

describe('the consent to a gift', () => {
  it('is refused where another transfer has the wire than the one that was shown', async () => {
    const { first, second, mark } = await report()
    const third = await transfers.begin('wire')
    await third.say('accepted', '100', mark)
    await third.decide(0, 'apply')
    await expect(second.decide(0, 'apply')).rejects.toMatchObject(
      refused(`reused_mark. It is the wire of ${third.id}.`),
    )
    await second.decide(0, 'apply', { markOwners: [third.id] })
    expect([(await first.open()).length, await third.open(), await second.open()]).toEqual([
      1,
      ['accepted 100 reused_mark'],
      [],
    ])
  })

  it('is refused where the first transfer was credited the wire, until that went back', async () => {
    const { first, second, mark } = await report()
    await first.say('settled', '100', mark)
    await first.reaches('complete')
    await expect(second.decide(0, 'apply')).rejects.toMatchObject(refused('isAnotherWire'))
    await first.say('returned', '100', back(2), mark)
    await second.decide(0, 'apply')
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    expect(await second.change()).toEqual(moved('wire', 100))
  })

  it('credits another wire of that mark where a person says that it is another one', async () => {
    const { first, second, mark } = await report()
    await first.say('settled', '100', mark)
    await first.reaches('complete')
    await second.decide(0, 'apply', { isAnotherWire: true })
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    expect([await first.open(), await second.open()]).toEqual([[], []])
    expect(await second.change()).toEqual(moved('wire', 200))
  })
})

describe('the first transfer of a wire that was given away', () => {
  it.each(['returned', 'rejected'] as const)('is not ended by a report without a mark that says %s', async (kind) => {
    const { first, second, mark } = await give()
    await first.say(kind, '100', back(2))
    expect(await first.open()).toEqual(['accepted 100 reused_mark', `${kind} 100 disputed`])
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    await first.decide(1, 'apply')
    await first.reaches('failed')
    await first.dismissAll()
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it.each([
    ['its mark', true],
    ['no mark', false],
  ])('has no receipt of it once it is canceled by a report with %s', async (_, isMarked) => {
    const { first, second, mark } = await give()
    await first.say('canceled', '100', isMarked ? mark : {})
    await first.reaches('canceled')
    expect(await first.open()).toEqual(['accepted 100 reused_mark'])
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it.each([
    ['held', '90', async () => {}],
    ['has ended', '100', (first: Begun) => first.say('rejected', '100').then(() => first.reaches('failed'))],
  ] as const)('keeps no receipt of it that it has where it was %s', async (_, value, end) => {
    const [first, second] = await beginTwo()
    const mark = imad(`A${first.id}`)
    await first.say('accepted', value, mark)
    await end(first)
    await second.say('accepted', value, mark)
    expect(await first.change()).toEqual(moved('wire', 0, Number(value)))
    await second.decide(0, 'apply', { accepts: ['reused_mark', 'amount_mismatch'] })
    expect(await first.open()).toEqual([`accepted ${value} reused_mark`])
    await second.say('settled', value, mark)
    await second.reaches('complete')
    await first.dismissAll()
    expect(await first.change()).toEqual(moved('wire', Number(value)))
  })

  it('is canceled once a person says so, without its rail', async () => {
    const { first, second, mark } = await give()
    const { context } = api.sandbox.service
    await first.decide(0, 'dismiss')
    await inTransaction(context, (tx) => cancelTransferWithoutWire(tx, context, first.id))
    expect(await first.status()).toBe('canceled')
    await inTransaction(context, (tx) => cancelTransferWithoutWire(tx, context, first.id))
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    // Its payer may still have its instructions.
    await first.say('settled', '100', drawn(`B${first.id}`))
    expect(await first.open()).toEqual(['settled 100 status_contradicted'])
    await first.dismissAll()
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('is not canceled while it has its wire, or after it has ended', async () => {
    const { first, second, mark } = await give()
    const { context } = api.sandbox.service
    const cancel = (id: string) => inTransaction(context, (tx) => cancelTransferWithoutWire(tx, context, id))
    await expect(cancel('nothing')).rejects.toMatchObject({ code: 'not_found' })
    await expect(cancel(second.id)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
    await first.decide(0, 'apply')
    await expect(cancel(first.id)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
    await first.say('settled', '100', mark)
    await first.reaches('complete')
    await expect(cancel(first.id)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
  })

  it('is completed by no poll that was admitted before, until it is given back', async () => {
    const { first, second } = await give()
    expect(await completeLate(first)).toEqual([])
    expect(await first.status()).toBe('processing')
    expect(await second.change()).toEqual({})
  })

  it('is completed once it is given back, where its rail has said that meanwhile', async () => {
    const { first, second } = await give()
    const { context } = api.sandbox.service
    const remoteId = (await context.engine.transfers.get(first.id))?.remoteId ?? ''
    const said = { remoteId, status: 'complete', failure: null } as const
    await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, [said]))
    await first.decide(0, 'apply')
    await first.reaches('complete')
    expect(await second.open()).toEqual(['accepted 100 reused_mark'])
    expect(await first.change()).toEqual(moved('wire', 100))
  })
})

describe('a gift and another report at once', () => {
  const decide = (id: string) => payments.resolve(id, 'apply')

  it('credit one transfer where the gift is first', async () => {
    const { first, second, mark } = await report()
    const { context } = api.sandbox.service
    const [held = ''] = await openOf(second)
    let settled: Promise<void> | undefined
    await inTransaction(context, async (tx) => {
      await resolveRailException(tx, context, held, { action: 'apply', by: 'ops@example.com' })
      settled = first.say('settled', '100')
      await Promise.race([settled, transfers.isWaiting()])
    })
    await settled
    expect(await first.open()).toEqual(['accepted 100 reused_mark', 'settled 100 reused_mark'])
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('credit one transfer where the settlement is first', async () => {
    const { first, second } = await report()
    const { context } = api.sandbox.service
    const [held = ''] = await openOf(second)
    const fact = await payments.factOf(await payments.read(first.id), 'settled', { amount: usd('100') })
    const { id } = await recordFact(asSystem(context), context, readPaymentFact(fact).row)
    let given: Promise<unknown> | undefined
    await inTransaction(context, async (tx) => {
      await applyStored(tx, context, [{ id, fact }])
      given = decide(held).catch((error: unknown) => error)
      await Promise.race([given, transfers.isWaiting()])
    })
    expect(await given).toMatchObject(refused('reused_mark'))
    await first.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('credit one transfer where a poll that was admitted before completes the first one beside the gift', async () => {
    const { first, second } = await report()
    const { context } = api.sandbox.service
    const [held = ''] = await openOf(second)
    let given: Promise<unknown> | undefined
    await inTransaction(context, async (tx) => {
      const step = { id: first.id, type: 'transfer.completed', failure: null, reference: null } as const
      expect(await advanceTransfers(tx, context, [step])).toHaveLength(1)
      given = decide(held).catch((error: unknown) => error)
      await Promise.race([given, transfers.isWaiting()])
    })
    expect(await given).toMatchObject(refused('reused_mark'))
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it.each([
    ['waits for the gift', false],
    ['waits for the gift and for another one that gives it back', true],
  ])('credit one transfer where such a poll %s', async (_, isGivenBack) => {
    const { first, second } = await report()
    const { context } = api.sandbox.service
    const [held = ''] = await openOf(second)
    const apply = { action: 'apply', by: 'ops@example.com' } as const
    let completed: ReturnType<typeof completeLate> | undefined
    await inTransaction(context, async (tx) => {
      await resolveRailException(tx, context, held, apply)
      completed = completeLate(first)
      await Promise.race([completed, transfers.isWaiting()])
      const [lost] = await listRailExceptions(tx, context, { transferId: first.id })
      if (isGivenBack) await resolveRailException(tx, context, lost?.id ?? '', apply)
    })
    expect(await completed).toHaveLength(isGivenBack ? 1 : 0)
    expect(await (isGivenBack ? second : first).open()).toEqual(['accepted 100 reused_mark'])
    expect(await first.change()).toEqual(moved('wire', isGivenBack ? 100 : 0))
  })
})

it('an inbound wire is one in any case of its transaction', async () => {
  const one = await transfers.begin('wire')
  await one.say('accepted', '100', drawn(`ab${one.id}`))
  await one.say('settled', '100', drawn(`AB${one.id}`))
  await one.reaches('complete')
  expect(await one.open()).toEqual([])
})
