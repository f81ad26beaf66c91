import { drain } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sanctions, testPayments } from '../../test/payments.ts'
import {
  at,
  back,
  drawn,
  type Fields,
  imad,
  moved,
  observeComplete,
  paid,
  refused,
  reportedTransfers,
  usd,
} from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import { createPolledTransfers } from '../rail-facts/polled-transfers.ts'
import { applyFacts } from './facts.ts'
import { advanceTransfers } from './progress.ts'

// What becomes of a transfer behind the gift of its wire: by its own wire, by polls, and by the gift of another one.

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

/** Two transfers, and a wire that was that of the first one and is reported for the second one, too. */
const report = async (named: (id: string) => Fields = (id) => drawn(`A${id}`)) => {
  const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
  const mark = named(first.id)
  await first.say('accepted', '100', mark)
  await first.reaches('processing')
  await second.say('accepted', '100', mark)
  return { first, second, mark }
}
const give = async (named?: (id: string) => Fields) => {
  const reported = await report(named)
  await reported.second.decide(0, 'apply')
  return reported
}
/** A poll that was admitted before the gift has said so, and the service cannot do it. */
const completeInEngine = async (id: string) => {
  const { context } = api.sandbox.service
  await inTransaction(context, (tx) => observeComplete(tx, api, id))
  await drain(context.engine, { until: ({ undelivered }) => undelivered === 0 })
}
const completeLate = async (id: string) => {
  const { context } = api.sandbox.service
  const step = { id, type: 'transfer.completed', failure: null, reference: null } as const
  return await inTransaction(context, (tx) => advanceTransfers(tx, context, [step]))
}
const failed = (isRetriable: boolean) => ({
  state: 'rejected' as const,
  failure: { ...sanctions, occurredAt: '2026-02-02T12:00:00.000Z', retriable: isRetriable },
})

describe('a transfer that has lost its wire, and that a poll has completed in the engine before', () => {
  it.each([
    ['its settlement', ['settled']],
    ['its arrival and its settlement', ['accepted', 'settled']],
  ] as const)('is credited a wire of its own by %s', async (_, kinds) => {
    const { first, second, mark } = await give()
    await completeInEngine(first.id)
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    for (const kind of kinds) await first.say(kind, '100', drawn(`B${first.id}`))
    for (const _ of kinds) await first.decide(1, 'apply')
    await first.dismissAll()
    await first.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 200))
  })

  it('is credited it, and says so once, where the settlement is applied by itself', async () => {
    const webhook = { url: 'https://127.0.0.1:9/', event_types: ['transfer.completed'] }
    await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body: webhook })
    const { first } = await give()
    await completeInEngine(first.id)
    const own = drawn(`B${first.id}`)
    await first.say('accepted', '100', own)
    await first.decide(1, 'apply')
    await first.dismissAll()
    expect(await first.status()).toBe('processing')
    const { context } = api.sandbox.service
    const transfer = await payments.read(first.id)
    const said = [own, { ...own, ...at(3) }].map((fields) =>
      payments.factOf(transfer, 'settled', { amount: usd('100'), ...fields }),
    )
    await applyFacts(context)(await Promise.all(said))
    await first.reaches('complete')
    const text = `select from ${context.schema}.webhook_event where type = 'transfer.completed' and body::text like $1`
    expect((await inspect(context.pool).query(text, [`%${first.id}%`])).rowCount).toBe(1)
    expect(await first.change()).toEqual(moved('wire', 100))
  })
})

describe('a transfer that has lost its wire', () => {
  it.each([
    ['canceled', { state: 'canceled' as const, failure: null }],
    ['rejected', failed(false)],
    ['rejected, and tried again', failed(true)],
  ])('is ended by no poll that says that it was %s, also once its reports are dismissed', async (_, said) => {
    const { first } = await give()
    await first.dismissAll()
    expect(await first.poll(said)).toBe('pending')
  })

  it('and whose own wire is settled by polls alone is completed by a person', async () => {
    const { first } = await give()
    await first.say('accepted', '100', drawn(`B${first.id}`))
    await first.decide(1, 'apply')
    const settled = { state: 'settled', failure: null } as const
    expect(await first.poll({ ...settled, amount: usd('100') })).toBe('processing')
    await first.dismissAll()
    for (const amount of [undefined, usd('100'), usd('100')])
      expect(await first.poll({ ...settled, amount })).toBe('processing')
    expect(await first.open()).toEqual(['settled 100 disputed'])
    await first.decide(0, 'apply')
    await first.reaches('complete')
    expect(await first.poll({ ...settled, amount: usd('100') })).toBe('complete')
    expect([await first.open(), await first.change()]).toEqual([[], moved('wire', 100)])
  })

  it('says no more of that wire, and of its own all', async () => {
    const { first } = await give()
    const sourceOf = async () => (await payments.read(first.id)).source
    expect(await sourceOf()).not.toHaveProperty('transaction_id', `A${first.id}`)
    await first.say('settled', '100', imad(`B${first.id}`))
    await first.decide(1, 'apply', { isAnotherWire: true })
    await first.dismissAll()
    await first.reaches('complete')
    expect(await sourceOf()).toMatchObject({ payment_details: { imad: `B${first.id}` } })
    expect(await sourceOf()).not.toHaveProperty('transaction_id', `A${first.id}`)
  })

  it('says it again once it is given back', async () => {
    const { first } = await give()
    await first.say('settled', '100')
    await first.decide(1, 'apply')
    await first.reaches('complete')
    expect((await payments.read(first.id)).source).toMatchObject({ transaction_id: `A${first.id}` })
  })

  it.each(['straße', '\ufb01n', '\u00e9', '\u0131'])('has lost it whatever letters it has: %s', async (letters) => {
    const { first } = await give((id) => drawn(`${letters}${id}`))
    expect(await first.open()).toEqual(['accepted 100 reused_mark'])
    expect(await completeLate(first.id)).toEqual([])
  })

  it.each(['\u00a0', '\u2003', '\ufeff'])('has lost it whatever white space its IMAD has: %j', async (space) => {
    const { first } = await give((id) => imad(`2026${space}${id}`))
    expect(await first.open()).toEqual(['accepted 100 reused_mark'])
    expect(await completeLate(first.id)).toEqual([])
  })
})

describe('of a transfer that loses a wire', () => {
  it('a report without a mark is held, too, where it may be about that wire', async () => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    const mark = drawn(`A${first.id}`)
    await first.say('accepted', '100')
    await first.reaches('processing')
    await first.say('settled', '90', mark)
    await second.say('settled', '90', mark)
    await second.decide(0, 'apply', { accepts: ['reused_mark', 'amount_mismatch'] })
    await second.reaches('complete')
    expect(await first.open()).toEqual(['accepted 100 reused_mark', 'settled 90 reused_mark'])
    expect(await completeLate(first.id)).toEqual([])
    expect(await first.change()).toEqual(moved('wire', 90))
  })

  it('another one that a bank has named alike stays', async () => {
    const { first, second, mark } = await report()
    await second.decide(0, 'apply', { isAnotherWire: true })
    const [third, other] = [await transfers.begin('wire'), drawn(`B${first.id}`)]
    await first.say('accepted', '100', other)
    await third.say('accepted', '100', other)
    await third.decide(0, 'apply')
    expect(await first.open()).toEqual(['accepted 100 reused_mark'])
    expect((await payments.exceptions({ transferId: first.id }))[0]?.payload).toMatchObject({ markOwner: third.id })
    await first.dismissAll()
    await first.say('settled', '100', mark)
    await first.decide(0, 'apply', { isAnotherWire: true })
    await first.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 100))
  })
})

it('a gift is refused where another transfer than that of the exception gets the wire while it waits', async () => {
  const { first, second, mark } = await report()
  const third = await transfers.begin('wire')
  await third.say('accepted', '100', mark)
  await third.decide(0, 'apply')
  const { context } = api.sandbox.service
  const [held] = await payments.exceptions({ transferId: second.id })
  const id = held?.id ?? ''
  const asked = { action: 'apply', by: 'ops@example.com' } as const
  let given: Promise<unknown> | undefined
  await inTransaction(context, async (tx) => {
    await expect(resolveRailException(tx, context, id, asked)).rejects.toMatchObject(refused('reused_mark'))
    given = payments.resolve(id, 'apply').catch((error: unknown) => error)
    await Promise.race([given, transfers.isWaiting()])
  })
  expect(await given).toMatchObject(refused('Read the exception again'))
  await second.decide(0, 'apply')
  expect([(await first.open()).length, (await third.open()).length, await second.open()]).toEqual([1, 1, []])
})

it('a poll does not complete an inbound wire of which no fact has said that it arrived, also behind a failure that is tried again', async () => {
  const one = await transfers.begin('wire')
  await one.say('rejected', '100', back(2, { type: 'rejected', retriable: true }))
  await one.reaches('failed')
  expect(await one.poll({ state: 'settled', failure: null, amount: usd('100') })).toBe('pending')
})

it('a wire whose failure is tried again is awaited still, whatever a repeat of its submission answers', async () => {
  const polled = createPolledTransfers(api.sandbox.service.context)
  const [one, other] = [await transfers.begin('wire'), await transfers.begin('wire')]
  await one.say('rejected', '100', back(2, { type: 'rejected', retriable: true }))
  await one.reaches('failed')
  expect(await polled.isAwaited(one.id)).toBe(true)
  await one.say('accepted', '100', drawn(`A${one.id}`), at(3))
  await one.reaches('processing')
  await other.say('rejected', '100', back(2, { type: 'rejected' }))
  await other.reaches('failed')
  expect([await polled.isAwaited(one.id), await polled.isAwaited(other.id)]).toEqual([false, false])
})

it.each([
  ['payout', paid],
  ['debit', drawn],
] as const)('a poll ends a %s whose reports have its mark in two cases', async (flow, named) => {
  const one = await transfers.begin(flow)
  await one.say('accepted', '100', named(`ab${one.id}`))
  await one.say('accepted', '100', named(`AB${one.id}`))
  expect(await one.poll(failed(false))).toBe('failed')
  await one.reaches('failed')
})
