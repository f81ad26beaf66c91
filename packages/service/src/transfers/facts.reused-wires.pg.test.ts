import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { testPayments } from '../../test/payments.ts'
import { back, drawn, imad, moved, refused, reportedTransfers, words } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { AutomationResource } from '../automations/automations.ts'
import { applyDeposit } from '../automations/deposits.ts'

// One wire is that of one transfer, whoever its bank names.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let other: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
let others: Awaited<ReturnType<typeof reportedTransfers>>
beforeAll(async () => {
  api = await testSandbox(database.url)
  other = await testSandbox(database.url)
  transfers = await reportedTransfers(api)
  others = await reportedTransfers(other)
})
beforeEach(async () => {
  await transfers.mark()
  await others.mark()
})
afterAll(() => Promise.all([api.stop(), other.stop()]))

const payloadOf = async (id: string) =>
  (await testPayments(api).exceptions({ transferId: id })).map(({ payload }) => payload['markOwner'])

describe.each(['one account', 'two tenants'])('a wire that its bank reports for two transfers of %s', (whose) => {
  const begin = async () => [
    await transfers.begin('wire'),
    await (whose === 'two tenants' ? others : transfers).begin('wire'),
  ]

  it.each([
    ['IMAD', imad, imad],
    ['transaction', drawn, drawn],
    ['transaction in another case', (id: string) => drawn(`ab${id}`), (id: string) => drawn(`AB${id}`)],
    ['IMAD in another spelling', (id: string) => imad(` ab${id} `), (id: string) => imad(`AB ${id}`)],
  ])('by its %s is credited to the first one alone', async (_, named, namedAgain) => {
    const [first, second] = await begin()
    if (first === undefined || second === undefined) return
    await first.say('accepted', '100', named(first.id))
    await second.say('accepted', '100', namedAgain(first.id))
    await second.say('settled', '100', namedAgain(first.id))
    await first.say('settled', '100', named(first.id))
    await first.reaches('complete')
    expect(await second.open()).toEqual(['accepted 100 reused_mark', 'settled 100 reused_mark'])
    expect(await payloadOf(second.id)).toEqual([first.id, first.id])
    expect(JSON.stringify(await testPayments(whose === 'two tenants' ? other : api).read(second.id))).not.toContain(
      first.id,
    )
    await second.dismissAll()
    expect(await first.change()).toEqual(moved('wire', 100))
  })

  it('at once is credited to one of them', async () => {
    const [first, second] = await begin()
    if (first === undefined || second === undefined) return
    const mark = imad(`X${first.id}`)
    await Promise.all([first.say('accepted', '100', mark), second.say('accepted', '100', mark)])
    const open = [await first.open(), await second.open()]
    expect(open.toSorted((one, another) => one.length - another.length)).toEqual([[], ['accepted 100 reused_mark']])
  })

  it('is credited to the second one once a person says so, whose reports go on then', async () => {
    const [first, second] = await begin()
    if (first === undefined || second === undefined) return
    await first.say('accepted', '100', imad(first.id))
    await first.reaches('processing')
    await first.say('returned', '100', back(2), imad(first.id))
    await first.reaches('failed')
    await second.say('accepted', '100', imad(first.id))
    expect(await second.open()).toEqual(['accepted 100 reused_mark'])
    await second.decide(0, 'apply')
    await second.say('settled', '100', imad(first.id))
    await second.reaches('complete')
    expect(await second.open()).toEqual([])
    expect(await second.change()).toEqual(moved('wire', 100))
  })
})

describe('a wire', () => {
  it('is one in any spelling of its IMAD', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100', imad(` 2026 ab${one.id} `))
    await one.say('settled', '100', imad(`2026AB${one.id}`))
    await one.reaches('complete')
    expect(await one.open()).toEqual([])
    expect(await one.change()).toEqual(moved('wire', 100))
  })

  it('that a report of one transfer joins with that of another one is held', async () => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    await first.say('accepted', '100', drawn(`A${first.id}`))
    await second.say('accepted', '100', imad(`B${first.id}`))
    const both = {
      source: { transactionId: `A${first.id}`, paymentDetails: { imad: `B${first.id}` } },
    }
    await first.say('settled', '100', both)
    expect(await first.open()).toEqual(['settled 100 reused_mark'])
  })

  it.each(['returned', 'rejected'] as const)('that is %s ends no other transfer than its own', async (kind) => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    await first.say('accepted', '100', imad(first.id))
    await first.say('settled', '100', imad(first.id))
    await first.reaches('complete')
    await second.say(kind, '100', back(2), imad(first.id))
    expect(await second.open()).toEqual([`${kind} 100 reused_mark`])
    await second.dismissAll()
    expect(await first.open()).toEqual([])
    expect(await first.change()).toEqual(moved('wire', 100))
  })
})

describe('a wire that is held for one transfer', () => {
  it('is no receipt of another one', async () => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    await first.say('accepted', '90', imad(first.id))
    await second.say('accepted', '90', imad(first.id))
    expect(await second.open()).toEqual(['accepted 90 reused_mark'])
    await expect(second.decide(0, 'apply')).rejects.toMatchObject(refused('amount_mismatch'))
    expect(await second.change()).toEqual(moved('wire', 0, 90))
    await second.decide(0, 'apply', { accepts: ['reused_mark', 'amount_mismatch'] })
    await first.dismissAll()
    await second.say('settled', '90', imad(first.id))
    await second.reaches('complete')
    expect(await second.change()).toEqual(moved('wire', 90))
  })

  it('is that of the right one where the wrong one has another account', async () => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    await first.say('accepted', '100', imad(second.id), { accountId: other.accountId })
    expect(await first.open()).toEqual(['accepted 100 other_account'])
    await second.say('accepted', '100', imad(second.id))
    expect(await second.open()).toEqual([])
  })

  it('names nobody by an empty word', async () => {
    const [first, second] = [await transfers.begin('wire'), await transfers.begin('wire')]
    for (const one of [first, second]) await one.say('accepted', '100', imad('N/A'), words(`of ${one.id}`))
    for (const one of [first, second]) await one.say('accepted', '100', imad(' '), words(`again of ${one.id}`))
    expect([await first.open(), await second.open()]).toEqual([[], []])
  })
})

describe('a wire at a virtual account', () => {
  let automation: AutomationResource
  beforeAll(async () => {
    automation = await testAutomations(api).open()
  })
  const deposit = async (reference: string, details = {}) => {
    const automations = testAutomations(api)
    return await applyDeposit(api.sandbox.service.context, {
      ...{ reference, transferType: 'wire', amount: { value: '75.00', currency: 'USD' }, details },
      routingNumber: automation.source.funding_instructions?.routing_number ?? '',
      accountNumber: automations.accountNumberOf(automation),
    })
  }

  it('that has no account is held where a transfer has it, and is that of no transfer once it went back', async () => {
    const goneAt = (reference: string) =>
      applyDeposit(api.sandbox.service.context, {
        ...{ reference, transferType: 'wire', amount: { value: '75.00', currency: 'USD' }, details: {} },
        ...{ routingNumber: automation.source.funding_instructions?.routing_number ?? '', accountNumber: '1' },
      })
    const [one, next] = [await transfers.begin('wire'), await transfers.begin('wire')]
    await one.say('accepted', '100', imad(`F${one.id}`))
    expect(await goneAt(`F${one.id}`)).toEqual({ outcome: 'held', reason: 'reused_mark' })
    expect(await goneAt(`G${one.id}`)).toMatchObject({ outcome: 'returned' })
    await next.say('accepted', '100', imad(`G${one.id}`))
    expect(await next.open()).toEqual(['accepted 100 reused_mark'])
  })

  it('is held where a transfer has it, and credited once a person says so', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100', imad(`D${one.id}`))
    expect(await deposit(`D${one.id}`)).toEqual({ outcome: 'held', reason: 'reused_mark' })
    expect(await deposit(`E${one.id}`, { imad: `D${one.id}` })).toEqual({ outcome: 'held', reason: 'reused_mark' })
    const [held] = (await testPayments(api).exceptions()).filter(({ reference }) => reference === `D${one.id}`)
    expect(held?.payload['markOwner']).toBe(one.id)
    await testPayments(api).resolve(held?.id ?? '', 'apply')
    expect(await deposit(`D${one.id}`)).toMatchObject({ outcome: 'credited' })
  })

  it('is credited to no transfer by itself', async () => {
    const one = await transfers.begin('wire')
    expect(await deposit(`F${one.id}`)).toMatchObject({ outcome: 'credited' })
    await one.say('accepted', '75', imad(`F${one.id}`))
    expect(await one.open()).toEqual(['accepted 75 reused_mark'])
  })
})
