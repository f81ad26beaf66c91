import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { beginAs } from '../database/tenant.ts'
import type { TransferResource } from '../transfers/view.ts'
import { collectReceivables } from './receivables.ts'

const database = await testDatabase({ role: 'ordinary' })
const usdcOnBase = { valueType: 'USDC', transferType: 'base' }
let api: TestSandbox
let context: ServiceContext
let bankId: string
let outside: string
let foreign: string
beforeAll(async () => {
  const tokens = [
    { valueType: 'SBC', transferType: 'base', amount: '40' },
    { valueType: 'USDC', transferType: 'polygon', amount: '30' },
  ]
  api = await testSandbox(database.url, [{ ...usdcOnBase, amount: '1000' }, ...tokens])
  context = api.sandbox.service.context
  const add = async (body: object) =>
    (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
  bankId = await add({ ...sampleBankAddress, transfer_types: ['ach_debit'] })
  outside = await testAutomations(api).addWallet('0x52908400098527886E0F7030069857D2E4169EE7')
  foreign = await add({ name: 'Other', address: api.otherWallet.address, transfer_types: ['base'] })
})
afterAll(() => api.stop())

const asSystem = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(context, work)
const insertOwed = `insert into outlay_service.receivable (account_id, address_id, value_type, transfer_type, amount, blocks_sends, since)
                    values ($1, $2, 'USDC', 'base', $3, true, now())`
/** Lets the account owe an amount, at its own wallet, of what its debits had brought. */
const owe = (amount: string) =>
  asSystem(async (tx) => {
    const line = { value: 'USDC', bucket: 'available' }
    const lines = [
      {
        ...line,
        kind: 'receivable',
        account: api.accountId,
        address: api.walletId,
        rail: 'base',
        amount: `-${amount}`,
      },
      { ...line, kind: 'issuer', account: '', address: '', rail: '', amount },
    ]
    await tx.query(`select outlay_service.ledger_apply($1, 'reverse', $2::jsonb)`, [
      `owed ${crypto.randomUUID()}`,
      JSON.stringify(lines),
    ])
    await tx.query(insertOwed, [api.accountId, api.walletId, amount])
  })
const own = (valueType = 'USDC') => ({ address_id: api.walletId, value_type: valueType, transfer_type: 'base' })
const create = (body: object) =>
  api.call<TransferResource & { code?: string }>('POST', `/accounts/${api.accountId}/transfers`, { body })
const debit = (addressId: string) =>
  create({
    amount: { value: '10', currency: 'USD' },
    source: { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: { ...own(), address_id: addressId },
  })
const payOut = (value: string) =>
  create({ amount: { value, currency: 'USDC' }, source: own(), destination: { ...own(), address_id: outside } })
const balances = async () => {
  const { rows } = await inspect(context.pool).query(
    `select value_type || ' ' || transfer_type as name, available::float8 as available
       from outlay_service.ledger_account where kind = 'custodial' and address_id = $1`,
    [api.walletId],
  )
  return Object.fromEntries(rows.map(({ name, available }) => [name, available]))
}
beforeEach(() => inspect(context.pool).query('delete from outlay_service.receivable'))

describe('an account that owes', () => {
  it('brings nothing to others by debits, and goes on to fill its own wallets', async () => {
    expect((await debit(outside)).status).toBe(201)
    await owe('5')
    const answers = [await debit(outside), await debit(foreign), await payOut('1')]
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [422, 'insufficient_balance']),
    )
    expect((await debit(api.walletId)).status).toBe(201)
  })

  it('gets what arrives at its virtual accounts, to whatever wallet', async () => {
    await owe('5')
    const automations = testAutomations(api)
    const destination = { address_id: outside, value_type: 'USDC', transfer_type: 'base' }
    const automation = await automations.open({ destination })
    const { body } = await automations.wire(automation, { amount: '12.00' })
    await automations.transferReaches(body.transfer_id, 'complete')
  })

  it('sends nothing by a transfer that waited for its wallet while the return was booked', async () => {
    const returning = await context.pool.connect()
    await returning.query(beginAs('system'))
    // As a return does: the wallet, and then what is owed.
    await returning.query(
      `select from outlay_service.ledger_account where kind = 'custodial' and address_id = $1 for no key update`,
      [api.walletId],
    )
    const sending = payOut('5')
    const waits = `select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database() and query like '%transfer_hold%'`
    await vi.waitFor(async () => expect((await inspect(context.pool).query(waits)).rowCount).toBe(1), {
      timeout: 60_000,
    })
    await returning.query(insertOwed, [api.accountId, api.walletId, '700'])
    await returning.query('commit')
    returning.release()
    expect(await sending).toMatchObject({ status: 422, body: { code: 'insufficient_balance' } })
  })
})

describe('what an account owes', () => {
  it('is collected from other tokens of its peg and from other chains, once that is asked for', async () => {
    const { 'USDC base': available = 0 } = await balances()
    const amount = available + 55.5
    await owe(String(amount))
    expect((await asSystem((tx) => collectReceivables(tx, context, api.accountId)))[0]?.amount.value).toBe('55.5')
    const collect = () => asSystem((tx) => collectReceivables(tx, context, api.accountId, { acrossPeg: true }))
    const left = await Promise.all(Array.from({ length: 4 }, collect))
    expect(left).toEqual(left.map(() => []))
    // The same token on another chain first.
    expect(await balances()).toMatchObject({ 'USDC base': 0, 'USDC polygon': 0, 'SBC base': 14.5 })
    await expectSoundLedger(context)
  })

  it('stays as far as the tokens of its peg do not cover it', async () => {
    await owe('20')
    const collect = () => asSystem((tx) => collectReceivables(tx, context, api.accountId, { acrossPeg: true }))
    expect((await collect()).map(({ amount }) => amount)).toEqual([{ value: '5.5', currency: 'USDC' }])
    expect(await balances()).toMatchObject({ 'SBC base': 0 })
    await expectSoundLedger(context)
  })
})
