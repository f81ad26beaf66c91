import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { listRailExceptions } from '../rail-exceptions/rail-exceptions.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { DepositFact } from '../rails/port.ts'
import type { AutomationResource } from './automations.ts'
import { applyDeposit } from './deposits.ts'
import { applyOpened } from './opening.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let automations: TestAutomations
let automation: AutomationResource
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url)
  context = api.sandbox.service.context
  automations = testAutomations(api)
  automation = await automations.open()
})
afterAll(() => api.stop())

const settlement = async (): Promise<number> => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(entries_available), 0) as usd from ${context.schema}.ledger_balance
      where kind = 'settlement' and value_type = 'USD'`,
  )
  return Number(rows[0]?.usd)
}
const factOf = (reference: string, fields: Partial<DepositFact> = {}): DepositFact => ({
  reference,
  transferType: 'wire',
  routingNumber: automation.source.funding_instructions?.routing_number ?? '',
  accountNumber: automations.accountNumberOf(automation),
  amount: { value: '75.00', currency: 'USD' },
  details: { imad: reference },
  ...fields,
})
const exceptions = () => inTransaction(context, (tx) => listRailExceptions(tx, context))

describe('a deposit with the reference of another one', () => {
  it.each<[string, string, () => Promise<Partial<DepositFact>>]>([
    ['amount', '20261101OUTL0000900011', async () => ({ amount: { value: '76.00', currency: 'USD' } })],
    [
      'account',
      '20261101OUTL0000900012',
      async () => ({ accountNumber: automations.accountNumberOf(await automations.open()) }),
    ],
  ])('and another %s is held as an exception, and mints nothing', async (_, reference, fields) => {
    const first = await applyDeposit(context, factOf(reference))
    const [before, open] = [await settlement(), await exceptions()]
    const other = factOf(reference, await fields())
    const held = { outcome: 'held', reason: 'reference_reused' }
    expect([await applyDeposit(context, other), await applyDeposit(context, other)]).toEqual([held, held])
    expect(await applyDeposit(context, factOf(reference))).toEqual(first)
    expect(await settlement()).toBe(before)
    const added = (await exceptions()).filter(({ id }) => !open.some((one) => one.id === id))
    expect(added).toMatchObject([{ kind: 'deposit', rail: 'wire', reference, reason: 'reference_reused' }])
    expect(JSON.stringify(added)).not.toContain(other.accountNumber)
  })

  it('that the service accepted before it stored facts is held too', async () => {
    const reference = '20261101OUTL0000900013'
    const first = await applyDeposit(context, factOf(reference))
    const { query } = inspect(context.pool)
    await query(`delete from ${context.schema}.rail_fact where reference = $1`, [reference])
    expect(await applyDeposit(context, factOf(reference, { amount: { value: '1', currency: 'USD' } }))).toMatchObject({
      outcome: 'held',
    })
    expect(await applyDeposit(context, factOf(reference))).toEqual(first)
  })

  it('is the same deposit when only its details differ', async () => {
    const reference = '20261101OUTL0000900014'
    const first = await applyDeposit(context, factOf(reference))
    expect(
      await applyDeposit(context, factOf(reference, { details: { imad: reference, senderName: 'Globex' } })),
    ).toEqual(first)
  })
})

describe('a deposit whose reference is that of another one in another case', () => {
  const refusal = { outcome: 'held', reason: 'reference_reused' }
  const ach = (reference: string, day = '2026-11-02') =>
    factOf(reference, { transferType: 'ach_credit', details: { receivedAt: `${day}T15:00:00Z` } })
  const decide = async (reference: string) => {
    const [held] = (await exceptions()).filter((one) => one.reference === reference)
    const decision = { action: 'apply', by: 'ops@example.com' } as const
    await inTransaction(context, (tx) => resolveRailException(tx, context, held?.id ?? '', decision))
  }
  const down = () => ({
    ...context,
    rails: { ...context.rails, validate: () => Promise.reject(new Error('The rail is down.')) },
  })

  it('is credited once where the first one was interrupted', async () => {
    await expect(applyDeposit(down(), ach('Trace1'))).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await applyDeposit(context, ach('TRACE1'))).toEqual(refusal)
    const before = await settlement()
    await decide('TRACE1')
    const credited = await applyDeposit(context, ach('TRACE1'))
    expect(credited).toMatchObject({ outcome: 'credited' })
    expect(await applyDeposit(context, ach('Trace1'))).toEqual(credited)
    expect(await settlement()).toBe(before + 75)
  })

  it.each(['credited', 'returned'])('is not credited where the first one was %s', async (outcome) => {
    const accountNumber = outcome === 'returned' ? '1' : automations.accountNumberOf(automation)
    expect(await applyDeposit(context, { ...ach(`R${outcome}`), accountNumber })).toMatchObject({ outcome })
    expect(await applyDeposit(context, ach(`r${outcome}`))).toEqual(refusal)
    await expect(decide(`r${outcome}`)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is credited once for another day', async () => {
    await applyDeposit(context, ach('Trace3'))
    for (const reference of ['Trace3', 'TRACE3'])
      expect(await applyDeposit(context, ach(reference, '2026-11-03'))).toEqual(refusal)
    await decide('Trace3')
    await expect(decide('TRACE3')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is the same where the first one came before facts were stored', async () => {
    const first = await applyDeposit(context, ach('Trace4'))
    await inspect(context.pool).query(`delete from ${context.schema}.rail_fact where reference = 'Trace4'`)
    expect(await applyDeposit(context, ach('TRACE4'))).toEqual(first)
  })
})

describe('a deposit with the reference and the amount of an earlier one', () => {
  const on = (reference: string, receivedAt: string | null) => factOf(reference, { details: { receivedAt } })
  const held = { outcome: 'held', reason: 'reference_reused' }

  it('of another day is held, and credited once when a person applies it', async () => {
    const reference = '071000010000001'
    const first = await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))
    const [before, open] = [await settlement(), await exceptions()]
    const other = on(reference, '2026-11-03T15:00:00Z')
    expect([await applyDeposit(context, other), await applyDeposit(context, other)]).toEqual([held, held])
    const added = (await exceptions()).filter(({ id }) => !open.some((one) => one.id === id))
    expect(added).toMatchObject([{ kind: 'deposit', reference, reason: 'reference_reused' }])
    expect(await settlement()).toBe(before)
    const decision = { action: 'apply', by: 'ops@example.com' } as const
    await inTransaction(context, (tx) => resolveRailException(tx, context, added[0]?.id ?? '', decision))
    const second = await applyDeposit(context, other)
    expect(second).toMatchObject({ outcome: 'credited' })
    expect(second).not.toEqual(first)
    expect(await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))).toEqual(first)
    // The mint takes both from the settlement account or leaves both there.
    const { rows } = await inspect(context.pool).query(
      `select count(*)::int as count from ${context.schema}.transfer where source_transaction_id = $1`,
      [reference],
    )
    expect(rows).toEqual([{ count: 2 }])
  })

  it.each<[string, string, () => Promise<Partial<DepositFact>>]>([
    ['amount', '071000010000003', async () => ({ amount: { value: '76.00', currency: 'USD' } })],
    [
      'account',
      '071000010000004',
      async () => ({ accountNumber: automations.accountNumberOf(await automations.open()) }),
    ],
  ])('of another day and with another %s is credited once for that day, too', async (_, reference, fields) => {
    const first = await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))
    const open = new Set((await exceptions()).map(({ id }) => id))
    const other = { ...on(reference, '2026-11-03T15:00:00Z'), ...(await fields()) }
    expect(await applyDeposit(context, other)).toEqual(held)
    // The amount of the first one comes on that day as well: one of the two is credited.
    expect(await applyDeposit(context, on(reference, '2026-11-03T16:00:00Z'))).toEqual(held)
    const [one, two] = (await exceptions()).filter(({ id }) => !open.has(id))
    const apply = (id = '') =>
      inTransaction(context, (tx) => resolveRailException(tx, context, id, { action: 'apply', by: 'ops@example.com' }))
    await apply(one?.id)
    await expect(apply(two?.id)).rejects.toMatchObject({ code: 'conflict' })
    const second = await applyDeposit(context, other)
    expect(second).toMatchObject({ outcome: 'credited' })
    expect(second).not.toEqual(first)
    expect(await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))).toEqual(first)
  })

  it('and another amount on the day of the first is not credited', async () => {
    const reference = '071000010000005'
    await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))
    const open = new Set((await exceptions()).map(({ id }) => id))
    const amount = { value: '76.00', currency: 'USD' }
    await applyDeposit(context, { ...on(reference, '2026-11-02T16:00:00Z'), amount })
    const [one] = (await exceptions()).filter(({ id }) => !open.has(id))
    const decision = { action: 'apply', by: 'ops@example.com' } as const
    await expect(
      inTransaction(context, (tx) => resolveRailException(tx, context, one?.id ?? '', decision)),
    ).rejects.toMatchObject({ code: 'conflict' })
  })

  it('of the same day, or without a day, is the same', async () => {
    const reference = '071000010000002'
    const first = await applyDeposit(context, on(reference, '2026-11-02T15:00:00Z'))
    for (const receivedAt of ['2026-11-02T23:30:00Z', '2026-11-03T00:30:00+01:00', null, 'on Monday'])
      expect(await applyDeposit(context, on(reference, receivedAt))).toEqual(first)
  })
})

it('an automation that another transaction has locked keeps no deposit of another one waiting', async () => {
  const other = await automations.open()
  const fact = factOf('20261101OUTL0000900031')
  await inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.automation where id = $1 for update`, [automation.id])
    await expect(applyDeposit(context, fact)).rejects.toMatchObject({ code: '55P03' })
    const accountNumber = automations.accountNumberOf(other)
    const beside = await applyDeposit(context, factOf('20261101OUTL0000900032', { accountNumber }))
    expect(beside).toMatchObject({ outcome: 'credited' })
  })
  expect(await applyDeposit(context, fact)).toMatchObject({ outcome: 'credited' })
})

describe('an opened virtual account', () => {
  const instructions = () => {
    const { funding_instructions: given } = automation.source
    if (given === null) throw new Error('The automation is not open.')
    return {
      accountNumber: given.account_number,
      routingNumber: given.routing_number,
      bankName: given.bank_name,
      bankAddress: given.bank_address,
      memo: null,
    }
  }
  const reasons = async (automationId: string) =>
    (await exceptions()).filter(({ reference }) => reference === automationId).map(({ reason }) => reason)

  it('that is reported again changes nothing', async () => {
    await applyOpened(context, { automationId: automation.id, instructions: instructions() })
    expect(await automations.read(automation.id)).toEqual(automation)
    expect(await reasons(automation.id)).toEqual([])
  })

  it('with another number than the automation has is an exception', async () => {
    await applyOpened(context, {
      automationId: automation.id,
      instructions: { ...instructions(), accountNumber: '111122223333' },
    })
    expect(await automations.read(automation.id)).toEqual(automation)
    expect(await reasons(automation.id)).toEqual(['other_virtual_account'])
  })

  it('with the number of another automation is an exception, and the automation waits for its own', async () => {
    const { id } = (await automations.create()).body
    const fact = { automationId: id, instructions: instructions() }
    await applyOpened(context, fact)
    await applyOpened(context, fact)
    expect(await reasons(id)).toEqual(['other_virtual_account'])
    expect(await automations.read(automation.id)).toEqual(automation)
    const own = { ...instructions(), accountNumber: '444455556666' }
    await applyOpened(context, { automationId: id, instructions: own })
    expect((await automations.read(id)).source.funding_instructions?.account_number).toBe(own.accountNumber)
  })

  it('that cannot be applied because of what it says is an exception, and one that may be later is rejected', async () => {
    const { id } = (await automations.create()).body
    const failing = (error: Error) => {
      const secrets = {
        ...context.secrets,
        seal: () => {
          throw error
        },
      }
      return { ...context, secrets }
    }
    const own = { ...instructions(), accountNumber: '777788889999' }
    const fact = { automationId: id, instructions: own }
    const passing = Object.assign(new Error('The database is shutting down.'), { code: '57P01' })
    await expect(applyOpened(failing(passing), fact)).rejects.toThrow(passing)
    expect(await reasons(id)).toEqual([])
    await applyOpened(failing(new TypeError('No.')), fact)
    expect(await reasons(id)).toEqual(['apply_failed'])
  })

  it('of an unknown automation is an exception', async () => {
    await applyOpened(context, { automationId: '0'.repeat(26), instructions: instructions() })
    expect(await reasons('0'.repeat(26))).toEqual(['unknown_automation'])
  })
})

describe('what a bank says in characters that Postgres cannot store', () => {
  // The bank may still report accounts of the tests before.
  const unreadable = async () => (await exceptions()).filter(({ kind }) => kind === 'unreadable')
  const halves = 'a\u0000b\ud800c'

  it('is credited without them, where it is words', async () => {
    const verdict = await applyDeposit(context, factOf('20261101OUTL0000900021', { details: { senderName: halves } }))
    expect(verdict).toMatchObject({ outcome: 'credited' })
    const { transferId } = verdict as { readonly transferId: string }
    const { body } = await api.call('GET', `/accounts/${api.accountId}/transfers/${transferId}`)
    expect(body).toMatchObject({ source: { payment_details: { sender_name: 'a\ufffdb\ufffdc' } } })
  })

  it('is credited where its amount is only written with more zeros than its currency has', async () => {
    const amount = { value: '10.0000', currency: 'USD' }
    const verdict = await applyDeposit(context, factOf('20261101OUTL0000900023', { amount }))
    expect(verdict).toMatchObject({ outcome: 'credited' })
  })

  it.each<[string, Partial<DepositFact>]>([
    ['NUL in the reference', { reference: '20261101\0' }],
    ['half a surrogate in the reference', { reference: '20261101\ud800' }],
    ['an amount below zero', { reference: 'below', amount: { value: '-5', currency: 'USD' } }],
    ['an amount that is a number', { reference: 'number', amount: { value: 5 as never, currency: 'USD' } }],
    ['an amount of nothing', { reference: 'nothing', amount: { value: '0.00', currency: 'USD' } }],
    ['an amount with an exponent', { reference: 'exponent', amount: { value: '1e3', currency: 'USD' } }],
    ['an amount with zeros before it', { reference: 'zeros', amount: { value: '007', currency: 'USD' } }],
    ['an amount in words', { reference: 'words', amount: { value: 'abc', currency: 'USD' } }],
    ['an amount finer than its currency', { reference: 'finer', amount: { value: '10.123', currency: 'USD' } }],
    ['another rail', { reference: 'rail', transferType: 'cheque' as never }],
  ])('or cannot be read, with %s, is held once, without its account', async (_, fields) => {
    const [before, open] = [await settlement(), await unreadable()]
    const said = factOf('20261101OUTL0000900022', fields)
    const held = { outcome: 'held', reason: 'unreadable' }
    expect([await applyDeposit(context, said), await applyDeposit(context, said)]).toEqual([held, held])
    const added = (await unreadable()).filter(({ id }) => !open.some((one) => one.id === id))
    expect(added).toMatchObject([{ kind: 'unreadable', reason: 'unreadable' }])
    expect(JSON.stringify(added)).not.toContain(said.accountNumber)
    expect(await settlement()).toBe(before)
  })

  it('is an exception where it opens an account', async () => {
    const open = await unreadable()
    const instructions = {
      bankName: 'Bank',
      bankAddress: 'Street',
      routingNumber: '021000021',
      accountNumber: '9\0',
      memo: null,
    }
    await applyOpened(context, { automationId: automation.id, instructions })
    const added = (await unreadable()).filter(({ id }) => !open.some((one) => one.id === id))
    expect(added).toMatchObject([{ kind: 'unreadable', reason: 'unreadable' }])
  })
})
