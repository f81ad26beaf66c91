import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { testPayments } from '../../test/payments.ts'
import { drawn, type Fields, imad, moved, refused, reportedTransfers, usd } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { AutomationResource } from '../automations/automations.ts'
import { applyDeposit } from '../automations/deposits.ts'
import { inTransaction } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

// Whose a wire is once a person has said so, and what an operator reads of that.

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

const both = (source: string, mark: string): Fields => ({
  source: { transactionId: source, paymentDetails: { imad: mark } },
})
const begin = async (count: number) => {
  const begun = []
  for (let index = 0; index < count; index += 1) begun.push(await transfers.begin('wire'))
  return begun as [Begun, Begun, Begun]
}
type Begun = Awaited<ReturnType<typeof transfers.begin>>
const query = (text: string, values: readonly unknown[]) => {
  const { pool, schema } = api.sandbox.service.context
  return inspect(pool).query(text.replaceAll('{{schema}}', schema), [...values])
}
/** Gives the wires of a transfer to another one, as a migration does that finds both credited. */
const giveTo = (owner: string, transferId: string) =>
  query('update {{schema}}.arrival_mark set transfer_id = $1 where transfer_id = $2', [owner, transferId])
const markOwners = async (transferId: string) =>
  (await payments.exceptions({ transferId })).map(({ payload }) => payload['markOwner'])

describe('a wire that a person credits to a second transfer', () => {
  it('is that of no third one by its other mark', async () => {
    const [first, second, third] = await begin(3)
    await first.say('accepted', '100', drawn(`A${first.id}`))
    await second.say('accepted', '100', both(`A${first.id}`, `B${first.id}`))
    await second.decide(0, 'apply')
    await third.say('accepted', '100', imad(`B${first.id}`))
    expect(await third.open()).toEqual(['accepted 100 reused_mark'])
    expect(await markOwners(third.id)).toEqual([second.id])
  })

  it.each([
    ['its mark', drawn],
    ['no mark', () => ({})],
    ['another kind of mark', imad],
  ] as const)('is not credited to the first one as well by a report with %s, or by a poll', async (_, named) => {
    const [first, second] = await begin(2)
    const mark = drawn(`A${first.id}`)
    await first.say('accepted', '100', mark)
    await first.reaches('processing')
    await second.say('accepted', '100', mark)
    await second.decide(0, 'apply')
    await second.say('settled', '100', mark)
    await second.reaches('complete')
    const settled = { state: 'settled', failure: null, amount: usd('100') } as const
    expect(await first.poll(settled)).toBe('pending')
    await first.say('settled', '100', named(`A${first.id}`))
    expect(await first.open()).toEqual(['accepted 100 reused_mark', 'settled 100 reused_mark'])
    expect(await markOwners(first.id)).toEqual([second.id, second.id])
    expect(await first.change()).toEqual(moved('wire', 100))
    await first.dismissAll()
    expect(await first.poll(settled)).toBe('pending')
    expect(await first.status()).toBe('processing')
  })

  it('leaves the first one to another wire, about which a person decides', async () => {
    const [first, second] = await begin(2)
    await first.say('accepted', '100', drawn(`A${first.id}`))
    await second.say('accepted', '100', drawn(`A${first.id}`))
    await second.decide(0, 'apply')
    await first.say('settled', '100', drawn(`B${first.id}`))
    expect(await first.open()).toEqual(['accepted 100 reused_mark', 'settled 100 disputed'])
    await second.say('settled', '100', drawn(`A${first.id}`))
    await second.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 100, 100))
    await first.decide(1, 'apply')
    await first.reaches('complete')
    expect(await first.change()).toEqual(moved('wire', 200))
  })

  it('has the marks of its later reports, too', async () => {
    const [first, second, third] = await begin(3)
    await first.say('accepted', '100', drawn(`A${first.id}`))
    await second.say('accepted', '100', drawn(`A${first.id}`))
    await second.decide(0, 'apply')
    await second.say('settled', '100', both(`A${first.id}`, `C${first.id}`))
    await second.reaches('complete')
    await third.say('accepted', '100', imad(`C${first.id}`))
    expect(await third.open()).toEqual(['accepted 100 reused_mark'])
  })

  it('goes on where that person accepted it before anything named its transfer', async () => {
    const [first, second] = await begin(2)
    await second.say('accepted', '90', drawn(`A${first.id}`))
    await giveTo(first.id, second.id)
    const accepted = { accepts: ['amount_mismatch', 'reused_mark'] }
    await expect(second.decide(0, 'apply', accepted)).rejects.toMatchObject(refused(`It is the wire of ${first.id}.`))
    await second.decide(0, 'apply', { ...accepted, markOwners: [first.id] })
    await second.say('settled', '90', drawn(`A${first.id}`))
    expect(await second.open()).toEqual([])
    await second.reaches('complete')
  })

  it('takes no receipt of another wire that is held there', async () => {
    const [first, second] = await begin(2)
    await first.say('accepted', '100', imad(`X${first.id}`))
    await second.say('accepted', '90', drawn(`A${second.id}`))
    await second.say('settled', '100', imad(`X${first.id}`))
    expect(await second.open()).toEqual(['accepted 90 amount_mismatch', 'settled 100 reused_mark'])
    await second.decide(1, 'apply')
    await second.reaches('complete')
    expect(await second.open()).toEqual(['accepted 90 amount_mismatch'])
    expect(await second.change()).toEqual(moved('wire', 100, 90))
    await second.dismissAll()
    expect(await second.change()).toEqual(moved('wire', 100))
  })

  it('keeps no receipt of another wire that was sent back', async () => {
    const [first, second] = await begin(2)
    await first.say('accepted', '90', imad(`X${first.id}`))
    await second.say('accepted', '90', drawn(`A${second.id}`))
    await second.say('settled', '90', imad(`X${first.id}`))
    await second.decide(0, 'dismiss')
    expect(await second.open()).toEqual(['settled 90 reused_mark'])
    expect(await second.change()).toEqual(moved('wire', 0, 90))
  })
})

it('a wire that an earlier release credited to two transfers is asked about with its next report, once', async () => {
  const [first, second] = await begin(2)
  await second.say('accepted', '100', imad(`M${first.id}`))
  await second.reaches('processing')
  await giveTo(first.id, second.id)
  await second.say('settled', '100', imad(`M${first.id}`))
  expect(await second.open()).toEqual(['settled 100 reused_mark'])
  await second.decide(0, 'apply')
  await second.reaches('complete')
  await second.say('settled', '100', imad(`M ${first.id}`))
  expect(await second.open()).toEqual([])
})

describe('wires that are reported together', () => {
  const report = async (...said: readonly (readonly [Begun, RailFact['kind'], Fields])[]) => {
    const facts: RailFact[] = []
    for (const [{ id }, kind, fields] of said)
      facts.push(await payments.factOf(await payments.read(id), kind, { amount: usd('100'), ...fields }))
    const listen = applyFacts(api.sandbox.service.context)
    await vi.waitFor(
      async () => expect((await listen(facts)).size).toBe(new Set(facts.map((one) => one.reference)).size),
      30_000,
    )
  }

  it('are those of the transfers that they would be one after the other', async () => {
    const [first, second, third] = await begin(3)
    const [a, b, c] = ['A', 'B', 'C'].map((mark) => `${mark}${first.id}`) as [string, string, string]
    await report(
      [first, 'accepted', drawn(a)],
      [second, 'accepted', both(a, b)],
      [third, 'accepted', both(c, b)],
      [second, 'accepted', imad(b)],
    )
    expect([await first.open(), await third.open()]).toEqual([[], []])
    expect(await second.open()).toEqual(['accepted 100 reused_mark', 'accepted 100 reused_mark'])
    expect(await markOwners(second.id)).toEqual([first.id, third.id])
    const { rows } = await query(
      'select kind, mark, transfer_id from {{schema}}.arrival_mark where mark = any ($1) order by kind, mark',
      [[a, b, c]],
    )
    expect(rows).toEqual([
      { kind: 'imad', mark: b, transfer_id: third.id },
      { kind: 'source', mark: a, transfer_id: first.id },
      { kind: 'source', mark: c, transfer_id: third.id },
    ])
  })

  it('go back where they have arrived', async () => {
    const [first, second] = await begin(2)
    await report([first, 'accepted', drawn(`A${first.id}`)], [second, 'rejected', drawn(`A${first.id}`)])
    expect([await first.open(), await second.open()]).toEqual([[], ['rejected 100 reused_mark']])
  })
})

describe('a wire at a virtual account', () => {
  let automation: AutomationResource
  beforeAll(async () => {
    automation = await testAutomations(api).open()
  })
  const deposit = (reference: string, details = {}, accountNumber = testAutomations(api).accountNumberOf(automation)) =>
    applyDeposit(api.sandbox.service.context, {
      ...{ reference, transferType: 'wire', amount: usd('75.00'), details, accountNumber },
      routingNumber: automation.source.funding_instructions?.routing_number ?? '',
    })
  const heldOf = async (reference: string) => {
    const [held] = (await payments.exceptions()).filter((one) => one.reference === reference)
    if (held === undefined) throw new Error('Nothing is held.')
    return held
  }
  const days = [{ receivedAt: '2026-11-02T15:00:00Z' }, { receivedAt: '2026-11-03T15:00:00Z' }] as const

  it('that a person credits for another reason is refused first where a transfer has it', async () => {
    const [one] = await begin(1)
    const reference = `R${one.id}`
    expect(await deposit(reference, days[0])).toMatchObject({ outcome: 'credited' })
    await one.say('accepted', '100', imad(`D${one.id}`))
    const other = { ...days[1], imad: `D${one.id}` }
    expect(await deposit(reference, other)).toEqual({ outcome: 'held', reason: 'reference_reused' })
    const { id } = await heldOf(reference)
    const { context } = api.sandbox.service
    await inTransaction(context, async (tx) => {
      const decided = resolveRailException(tx, context, id, { action: 'apply', by: 'ops@example.com' })
      await expect(decided).rejects.toMatchObject(refused(`reused_mark. It is the wire of ${one.id}.`))
    })
    expect(await heldOf(reference)).toMatchObject({ reason: 'reused_mark', payload: { markOwner: one.id } })
    expect(await deposit(reference, other)).toEqual({ outcome: 'held', reason: 'reused_mark' })
    await payments.resolve(id, 'apply')
    expect(await deposit(reference, other)).toMatchObject({ outcome: 'credited' })
  })

  it('that a person credits is not credited to the transfer as well that it was reported for', async () => {
    const [one] = await begin(1)
    await one.say('accepted', '75', imad(`D${one.id}`))
    expect(await one.open()).toEqual(['accepted 75 amount_mismatch'])
    await one.decide(0, 'apply')
    await deposit(`D${one.id}`)
    await payments.resolve((await heldOf(`D${one.id}`)).id, 'apply')
    await one.say('settled', '75', imad(`D${one.id}`))
    expect(await one.open()).toEqual(['accepted 75 reused_mark', 'settled 75 reused_mark'])
  })

  it('that a person credits is refused where a transfer was credited it', async () => {
    const [one] = await begin(1)
    await one.say('settled', '100', imad(`D${one.id}`))
    await one.reaches('complete')
    await deposit(`D${one.id}`)
    const { id } = await heldOf(`D${one.id}`)
    await expect(payments.resolve(id, 'apply')).rejects.toMatchObject(refused(`It is the wire of ${one.id}.`))
    await payments.resolve(id, 'apply', { isAnotherWire: true })
    expect(await deposit(`D${one.id}`)).toMatchObject({ outcome: 'credited' })
    expect(await one.open()).toEqual([])
  })

  it('that a person credits is that of no transfer by its other mark', async () => {
    const [first, second] = await begin(2)
    await first.say('accepted', '100', imad(`D${first.id}`))
    expect(await deposit(`E${first.id}`, { imad: `D${first.id}` })).toEqual({ outcome: 'held', reason: 'reused_mark' })
    await payments.resolve((await heldOf(`E${first.id}`)).id, 'apply')
    const credited = await deposit(`E${first.id}`, { imad: `D${first.id}` })
    await second.say('accepted', '75', imad(`E${first.id}`))
    expect(await second.open()).toEqual(['accepted 75 reused_mark'])
    expect(await markOwners(second.id)).toEqual([credited.outcome === 'credited' && credited.transferId])
  })

  it('of another day than one with its reference is that of no transfer by its other mark either', async () => {
    const [one] = await begin(1)
    await deposit(`R${one.id}`, days[0])
    await deposit(`R${one.id}`, { ...days[1], imad: `D${one.id}` })
    await payments.resolve((await heldOf(`R${one.id}`)).id, 'apply')
    await one.say('accepted', '75', imad(`D${one.id}`))
    expect(await one.open()).toEqual(['accepted 75 reused_mark'])
  })

  it('that went back is named by its deposit', async () => {
    const [one] = await begin(1)
    expect(await deposit(`G${one.id}`, {}, '1')).toMatchObject({ outcome: 'returned' })
    await one.say('accepted', '100', imad(`G${one.id}`))
    const { rows } = await query('select id from {{schema}}.returned_deposit where reference = $1', [`G${one.id}`])
    expect(await markOwners(one.id)).toEqual([rows[0]?.id])
  })
})
