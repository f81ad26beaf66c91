import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { listRailExceptions } from '../rail-exceptions/rail-exceptions.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { DepositFact } from '../rails/port.ts'
import type { AutomationResource } from './automations.ts'
import { applyDeposit } from './deposits.ts'

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

describe('a deposit that was stored, and interrupted before it took effect', () => {
  const dollars = (value: string) => ({ amount: { value, currency: 'USD' } })
  /** The rail does not answer: the fact is stored, and nothing else. */
  const interrupt = async (fact: DepositFact) => {
    const rails = { ...context.rails, validate: () => Promise.reject(new Error('The rail is down.')) }
    await expect(applyDeposit({ ...context, rails }, fact)).rejects.toMatchObject({ code: 'service_unavailable' })
  }
  const held = async (reference: string) => (await exceptions()).filter((one) => one.reference === reference)
  const apply = (id: string | undefined) =>
    inTransaction(context, (tx) => resolveRailException(tx, context, id ?? '', { action: 'apply', by: 'ada' }))
  const creditedOf = async (reference: string) =>
    (
      await inspect(context.pool).query(
        `select d.amount_value::float as usd from ${context.schema}.automation_deposit d
           join ${context.schema}.transfer t on t.id = d.transfer_id where d.reference = $1`,
        [reference],
      )
    ).rows
  const refusal = { outcome: 'held', reason: 'reference_reused' }

  it('gives its place to one with its reference that a person applies, once', async () => {
    const [reference, before] = ['20261101OUTL0000900031', await settlement()]
    await interrupt(factOf(reference))
    const corrected = factOf(reference, dollars('76.00'))
    expect(await applyDeposit(context, corrected)).toEqual(refusal)
    const [exception] = await held(reference)
    const resolved = await apply(exception?.id)
    expect(resolved).toMatchObject({ accountId: api.accountId, resolution: { action: 'applied' } })
    await expect(apply(exception?.id)).rejects.toMatchObject({ code: 'conflict' })
    expect(await applyDeposit(context, corrected)).toEqual({ outcome: 'credited', transferId: resolved.transferId })
    expect(await applyDeposit(context, factOf(reference))).toEqual(refusal)
    const [first] = await held(reference)
    await expect(apply(first?.id)).rejects.toMatchObject({ code: 'conflict', field: 'action' })
    expect(await creditedOf(reference)).toEqual([{ usd: 76 }])
    await automations.transferReaches(resolved.transferId, 'processing')
    await automations.advance(60)
    const { source } = await automations.transferReaches(resolved.transferId, 'complete')
    expect(source).toMatchObject({ transaction_id: reference, payment_details: { imad: reference } })
    expect(await settlement()).toBe(before + 76)
    await expectSoundLedger(context)
  })

  it.each([
    ['before it is reported again', 0],
    ['while it is reported again', 2],
  ])('is credited once where several with its reference are applied at once, %s', async (_, reports) => {
    const reference = `20261101OUTL000090003${4 + reports}`
    await interrupt(factOf(reference))
    for (const value of ['77.00', '78.00']) await applyDeposit(context, factOf(reference, dollars(value)))
    const open = await held(reference)
    expect(open).toHaveLength(2)
    const ends = await Promise.allSettled([
      ...open.map(({ id }) => apply(id)),
      ...Array.from({ length: reports }, () => applyDeposit(context, factOf(reference))),
    ])
    const applied = ends.slice(0, 2).filter(({ status }) => status === 'fulfilled')
    for (const end of ends.slice(0, 2))
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'conflict' })
    const credited = await creditedOf(reference)
    expect(credited).toHaveLength(1)
    expect(applied).toHaveLength(credited[0]?.usd === 75 ? 0 : 1)
    const repeat = await applyDeposit(context, factOf(reference))
    expect(repeat.outcome).toBe(credited[0]?.usd === 75 ? 'credited' : 'held')
    await expectSoundLedger(context)
  })

  it.each([
    [
      'the first one had its effect after all',
      'an earlier deposit',
      async (fact: DepositFact) => void (await applyDeposit(context, fact)),
    ],
    ['its automation is disabled', 'automation_disabled', async () => void (await disable('disabled'))],
  ])('is not credited by a person when %s', async (_, why, change) => {
    const reference = `2026${why.length}OUTL0000900033`
    await interrupt(factOf(reference))
    await applyDeposit(context, factOf(reference, dollars('79.00')))
    await change(factOf(reference))
    const [exception] = await held(reference)
    const refused = await apply(exception?.id).catch((error) => error)
    expect(refused).toMatchObject({ code: 'conflict', field: 'action' })
    expect(refused.message).toContain(why)
    expect((await held(reference))[0]?.resolution).toBe(null)
    await disable('active')
  })
  const disable = (status: string) => automations.change(automation.id, { status })
})
