import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { seedOfCI } from '../../test/model.ts'
import { inTransaction, type Tx } from '../context.ts'
import { migrateService } from '../database/migrations.ts'
import { book, type LedgerLeg, type LedgerLine, planDeposit, planReverse, planTransfer } from './ledger.ts'

const schema = 'ledger_test'
const database = await testDatabase({
  role: 'ordinary',
  prepare: async (url) => {
    const pool = new Pool({ connectionString: url })
    await migrateService({ pool, schema })
    await pool.end()
  },
})
const pool = new Pool({ connectionString: database.url, max: 16 })
afterAll(() => pool.end())

const context = { pool, schema }
/** Runs a statement on the rows of all tenants. */
const query = (text: string, values?: unknown[]) => inTransaction(context, (tx) => tx.query(text, values))
let counter = 0
const nextId = (): string => {
  counter += 1
  return `p${String(counter).padStart(6, '0')}`
}

const wallet = (accountId: string, valueType = 'USDC'): LedgerLeg => ({
  valueType,
  transferType: 'base',
  custodial: { accountId, addressId: `wallet-of-${accountId}` },
})
const bank: LedgerLeg = { valueType: 'USD', transferType: 'wire' }

const deposit = (accountId: string, amount: string) =>
  inTransaction(context, (tx) => book(tx, context, nextId(), 'deposit', planDeposit(wallet(accountId), amount)))
const offramp = (accountId: string, amount: string) =>
  planTransfer({ flow: 'offramp', amount, source: wallet(accountId), destination: bank })
const hold = (id: string, lines: readonly LedgerLine[]) => inTransaction(context, (tx) => holdIn(tx, id, lines))
const holdIn = async (tx: Tx, id: string, lines: readonly LedgerLine[]): Promise<boolean> => {
  const { rows } = await tx.query(`select ${schema}.ledger_hold($1, $2::jsonb) as held`, [id, JSON.stringify(lines)])
  return rows[0].held
}
const apply = (id: string, step: 'post' | 'void' | 'reverse', lines: readonly LedgerLine[]) =>
  inTransaction(context, (tx) => book(tx, context, id, step, lines))
const holding = async (accountId: string) => {
  const { rows } = await query(
    `select trim_scale(available)::text as available, trim_scale(held)::text as held
       from ${schema}.ledger_balance where account_id = $1`,
    [accountId],
  )
  return rows[0]
}

/** How many entries the connection has read since its statistics were last sent, which is never within a transaction. */
const entriesRead = async (tx: Tx): Promise<number> => {
  const { rows } = await tx.query(
    `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables
      where schemaname = $1 and relname = 'ledger_entry'`,
    [schema],
  )
  return rows[0].read
}

const drift = async (): Promise<number> => {
  const { rows } = await query(
    `select count(*)::int as drift from ${schema}.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  return rows[0].drift
}

it('a wallet that covers half of 64 concurrent spends pays exactly half and ends at zero', async () => {
  await deposit('half', '320')
  const plan = offramp('half', '10')
  const answers = await Promise.all(Array.from({ length: 64 }, () => hold(nextId(), plan.hold)))
  expect(answers.filter((isHeld) => isHeld)).toHaveLength(32)
  expect(await holding('half')).toMatchObject({ available: '0', held: '320' })
})

it('a refused hold changes nothing and leaves the transaction usable', async () => {
  await deposit('poor', '5')
  const entries = await inTransaction(context, async (tx) => {
    const before = (await tx.query(`select count(*)::int as n from ${schema}.ledger_entry`)).rows[0].n
    expect(await holdIn(tx, nextId(), offramp('poor', '5.01').hold)).toBe(false)
    return (await tx.query(`select count(*)::int as n from ${schema}.ledger_entry`)).rows[0].n - before
  })
  expect(entries).toBe(0)
  expect(await holding('poor')).toMatchObject({ available: '5', held: '0' })
})

it('a step that is booked twice counts once', async () => {
  await deposit('twice', '10')
  const id = nextId()
  const plan = offramp('twice', '4')
  expect(await hold(id, plan.hold)).toBe(true)
  await expect(hold(id, plan.hold)).rejects.toThrow('ledger_entry_pkey')
  expect(await holding('twice')).toMatchObject({ available: '6', held: '4' })
  expect(await apply(id, 'post', plan.post)).toBe('applied')
  expect(await apply(id, 'post', plan.post)).toBe('repeated')
  expect(await holding('twice')).toMatchObject({ available: '6', held: '0' })
})

it('a hold ends once: what is posted cannot be voided', async () => {
  await deposit('once', '10')
  const id = nextId()
  const other = nextId()
  const plan = offramp('once', '4')
  await hold(id, plan.hold)
  await hold(other, plan.hold)
  await apply(id, 'post', plan.post)
  await expect(apply(id, 'void', plan.void)).rejects.toThrow('ledger_entry_ends_once')
  expect(await holding('once')).toMatchObject({ available: '2', held: '4' })
})

it('a reverse returns a posted transfer to the wallet', async () => {
  await deposit('back', '10')
  const id = nextId()
  const plan = offramp('back', '4')
  await hold(id, plan.hold)
  await apply(id, 'post', plan.post)
  expect(await holding('back')).toMatchObject({ available: '6', held: '0' })
  await apply(id, 'reverse', planReverse(plan.post))
  expect(await holding('back')).toMatchObject({ available: '10', held: '0' })
})

it('lines that do not sum to zero are refused at commit', async () => {
  const [line] = planDeposit(wallet('skewed'), '1')
  await expect(apply(nextId(), 'reverse', line === undefined ? [] : [line])).rejects.toThrow('does not sum to zero')
})

it('an entry cannot be changed or deleted', async () => {
  await expect(query(`update ${schema}.ledger_entry set amount = amount * 2`)).rejects.toThrow('never changed')
  await expect(query(`delete from ${schema}.ledger_entry`)).rejects.toThrow('never changed')
})

it('a step reads no entries of other postings, however many there are', async () => {
  const deposits = Array.from({ length: 500 }, () => ({
    posting: nextId(),
    step: 'deposit',
    lines: planDeposit(wallet('many'), '1'),
  }))
  await query(`select ${schema}.ledger_apply_many($1::jsonb)`, [JSON.stringify(deposits)])
  const id = nextId()
  const plan = offramp('many', '4')
  await hold(id, plan.hold)
  const read = await inTransaction(context, async (tx) => {
    const before = await entriesRead(tx)
    await book(tx, context, id, 'post', plan.post)
    return (await entriesRead(tx)) - before
  })
  expect(read).toBeLessThan(20)
})

it('for any steps in any order, balances equal entries, are never negative, and sum to zero', async () => {
  const move = fc.record({
    kind: fc.constantFrom('deposit', 'offramp', 'payout', 'swap', 'onramp'),
    account: fc.constantFrom('a', 'b', 'c'),
    cents: fc.integer({ min: 1, max: 50_000 }),
    end: fc.constantFrom('post', 'void', 'leave'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 8, maxLength: 24 }), async (moves) => {
      await Promise.all(
        moves.map(async ({ kind, account, cents, end }) => {
          const amount = (cents / 100).toFixed(2)
          if (kind === 'deposit') return deposit(account, amount)
          const source = kind === 'onramp' ? bank : wallet(account)
          const destinations = { offramp: bank, payout: wallet('a', 'SBC'), swap: wallet(account, 'SBC') }
          const destination = kind === 'onramp' ? wallet(account) : destinations[kind]
          const plan = planTransfer({ flow: kind, amount, source, destination })
          const id = nextId()
          if (!(await hold(id, plan.hold)) || end === 'leave') return undefined
          return apply(id, end, plan[end])
        }),
      )
      expect(await drift()).toBe(0)
      const { rows } = await query(
        `select value_type from ${schema}.ledger_entry group by value_type having sum(amount) <> 0`,
      )
      expect(rows).toEqual([])
    }),
    { numRuns: 12, ...seedOfCI },
  )
})
