import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { deposit } from './deposits.ts'
import { collectReceivables, listReceivables } from './receivables.ts'

const database = await testDatabase({ role: 'ordinary' })
const usdcOnBase = { valueType: 'USDC', transferType: 'base' }
let debtor: TestSandbox
let neighbour: TestSandbox
let context: ServiceContext
let payee: string
let arrivals = 0
beforeAll(async () => {
  debtor = await testSandbox(database.url, [{ ...usdcOnBase, amount: '100' }])
  neighbour = await testSandbox(database.url, [{ ...usdcOnBase, amount: '1000' }])
  context = debtor.sandbox.service.context
  const body = { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] }
  payee = (await debtor.call<{ id: string }>('POST', `/accounts/${debtor.accountId}/addresses/external`, { body })).body
    .id
})
afterAll(() => Promise.all([debtor.stop(), neighbour.stop()]))

const asSystem = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(context, work)
const collect = (of = debtor) => asSystem((tx) => collectReceivables(tx, context, of.accountId))
const owedBy = async (of: TestSandbox) =>
  (await asSystem((tx) => listReceivables(tx, context, of.accountId))).reduce(
    (sum, one) => sum + Number(one.amount.value),
    0,
  )
const balanceOf = async ({ walletId }: TestSandbox) => {
  const { rows } = await inspect(context.pool).query(
    `select available::float8, held::float8 from ${context.schema}.ledger_account
      where kind = 'custodial' and address_id = $1 and value_type = 'USDC' and transfer_type = 'base'`,
    [walletId],
  )
  return rows[0] ?? { available: 0, held: 0 }
}
/** Lets the account owe, at its own wallet, an amount that came back of what it has spent. */
const owe = (amount: string, of = debtor) =>
  asSystem(async (tx) => {
    const line = { account: of.accountId, address: of.walletId, value: 'USDC', rail: 'base', bucket: 'available' }
    const lines = [
      { ...line, kind: 'receivable', amount: `-${amount}` },
      { ...line, kind: 'issuer', account: '', address: '', rail: '', amount },
    ]
    await tx.query(`select ${context.schema}.ledger_apply($1, 'reverse', $2::jsonb)`, [
      `owed ${++arrivals}`,
      JSON.stringify(lines),
    ])
    await tx.query(
      `insert into ${context.schema}.receivable as r (account_id, address_id, value_type, transfer_type, amount, blocks_sends, since)
       values ($1, $2, 'USDC', 'base', $3, false, now())
       on conflict (account_id, address_id, value_type, transfer_type) do update set amount = r.amount + excluded.amount`,
      [of.accountId, of.walletId, amount],
    )
  })
const arrive = (amount: string, of = debtor) =>
  asSystem((tx) =>
    deposit(tx, context, {
      ...{ accountId: of.accountId, addressId: of.walletId, ...usdcOnBase, amount },
      reference: `arrival ${++arrivals}`,
    }),
  )
const pay = (amount: string) => {
  const source = { address_id: debtor.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = { amount: { value: amount, currency: 'USDC' }, source, destination: { ...source, address_id: payee } }
  return debtor.call<{ code?: string }>('POST', `/accounts/${debtor.accountId}/transfers`, { body })
}
/** Empties what the account has available, and what it owes. */
beforeEach(async () => {
  await arrive('1000')
  expect(await collect()).toEqual([])
  const { available } = await balanceOf(debtor)
  expect((await pay(String(available))).status).toBe(201)
  expect(await balanceOf(debtor)).toMatchObject({ available: 0 })
})

describe('what an account owes', () => {
  it('is collected once, however many collect at once, and from no other account', async () => {
    const before = await balanceOf(neighbour)
    await owe('70')
    await arrive('100')
    const left = await Promise.all(Array.from({ length: 16 }, () => collect()))
    expect(left).toEqual(left.map(() => []))
    expect([await owedBy(debtor), (await balanceOf(debtor)).available]).toEqual([0, 30])
    // The neighbour owes nothing, and has not paid for another account, nor does it when it is collected from itself.
    await owe('5')
    expect(await collect(neighbour)).toEqual([])
    expect([await balanceOf(neighbour), await owedBy(debtor)]).toEqual([before, 5])
    await expectSoundLedger(context)
  })

  it('is not collected from what a transfer of the same wallet holds first', async () => {
    await owe('50')
    await arrive('60')
    const holding = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const source = {
      kind: 'custodial',
      account: debtor.accountId,
      address: debtor.walletId,
      value: 'USDC',
      rail: 'base',
    }
    const lines = [
      { ...source, bucket: 'available', amount: '-25' },
      { ...source, bucket: 'held', amount: '25' },
    ]
    const transfer = asSystem(async (tx) => {
      const { rows } = await tx.query(`select ${context.schema}.ledger_hold($1, $2::jsonb) as held`, [
        `hold ${++arrivals}`,
        JSON.stringify(lines),
      ])
      expect(rows).toEqual([{ held: true }])
      holding.resolve()
      await mayEnd.promise
    })
    await holding.promise
    const collecting = collect()
    const waits = `select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database() and query like '%receivable_settle%'`
    await vi.waitFor(async () => expect((await inspect(context.pool).query(waits)).rowCount).toBe(1), {
      timeout: 60_000,
    })
    mayEnd.resolve()
    await transfer
    expect((await collecting).map(({ amount }) => amount.value)).toEqual(['15'])
    expect(await balanceOf(debtor)).toMatchObject({ available: 0 })
    await expectSoundLedger(context)
  })

  it('and transfers of the same wallet at once take what there is, and no more', async () => {
    await owe('40')
    await arrive('100')
    const outcomes = await Promise.all([
      ...Array.from({ length: 20 }, () => pay('5')),
      ...Array.from({ length: 8 }, () => collect().then(() => undefined)),
    ])
    const paid = outcomes.filter((one) => one?.status === 201).length
    const refused = outcomes.filter((one) => one !== undefined && one.status !== 201)
    expect(new Set(refused.map((one) => one?.body.code))).toEqual(
      new Set(refused.length === 0 ? [] : ['insufficient_balance']),
    )
    await collect()
    const { available } = await balanceOf(debtor)
    expect(paid * 5 + (40 - (await owedBy(debtor))) + available).toBe(100)
    await expectSoundLedger(context)
  })

  it('stays collected after a restart, and one that was cut off collects nothing', async () => {
    await owe('30')
    await arrive('50')
    // A process that dies before its commit.
    await asSystem(async (tx) => {
      expect(await collectReceivables(tx, context, debtor.accountId)).toEqual([])
      throw new Error('The process dies.')
    }).catch(() => undefined)
    expect([await owedBy(debtor), (await balanceOf(debtor)).available]).toEqual([30, 50])
    expect(await collect()).toEqual([])
    await debtor.restart(async () => undefined)
    context = debtor.sandbox.service.context
    expect(await collect()).toEqual([])
    expect([await owedBy(debtor), (await balanceOf(debtor)).available]).toEqual([0, 20])
    await expectSoundLedger(context)
  })
})
