import type { Environment } from '../environment/environment.ts'
import type { Violation, Watch } from '../violation.ts'
import type { Evidence } from './evidence.ts'

/** Reads every wallet repeatedly, and records each that is below zero. */
export function watchWallets({ service }: Pick<Environment, 'service'>): Watch {
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      const { rows } = await service
        .query<{ readonly account_id: string; readonly value_type: string }>(
          `select account_id, value_type from outlay_service.ledger_account
           where kind = 'custodial' and (available < 0 or held < 0)`,
        )
        .catch(() => ({ rows: [] }))
      for (const { account_id, value_type } of rows)
        violations.push({ invariant: 'ledger', detail: `${value_type} of ${account_id} went below zero` })
    },
  }
}

/** Entries sum to zero, no balance is below zero, balances are what their entries say, and the money is all there. */
export async function checkLedger(at: Evidence): Promise<readonly Violation[]> {
  const found: string[] = []
  const { service } = at.environment
  const accounts = at.tenants.map(({ accountId }) => accountId)
  const unbalanced = await service.query(
    `select e.posting_id, e.value_type, sum(e.amount)::text as sum from outlay_service.ledger_entry e
     where e.posting_id in (select id from outlay_service.transfer where account_id = any ($1))
     group by 1, 2 having sum(e.amount) <> 0`,
    [accounts],
  )
  for (const { posting_id, value_type, sum } of unbalanced.rows)
    found.push(`${posting_id} sums to ${sum} ${value_type}`)
  const balances = await service.query<{
    readonly account_id: string
    readonly value_type: string
    readonly available: string
    readonly held: string
    readonly entries_available: string
    readonly entries_held: string
  }>(`select * from outlay_service.ledger_balance where kind = 'custodial' and account_id = any ($1)`, [accounts])
  for (const row of balances.rows) {
    const name = `${row.value_type} of ${row.account_id}`
    if (Number(row.available) < 0 || Number(row.held) < 0) found.push(`${name} is below zero`)
    if (Number(row.held) !== 0) found.push(`${row.held} ${name} is held and nothing goes on`)
    if (Number(row.available) !== Number(row.entries_available) || Number(row.held) !== Number(row.entries_held)) {
      found.push(`${name} is ${row.available}, and its entries say ${row.entries_available}`)
    }
  }
  const paid = await at.environment.host.query<{ readonly account_id: string; readonly sum: string }>(
    `select account_id, sum((coalesce(paid -> 'amount', request -> 'amount') ->> 'value')::numeric
       * case request -> 'source' ->> 'transferType' when 'ach_debit' then -1 else 1 end)::text as sum from outlay.transfer
     where status = 'complete' and (remote_id = any ($1)) is not true group by 1`,
    [[...at.foreign.keys()]],
  )
  // What nobody could find out in time may be paid all the same.
  const undecided = await at.environment.host.query<{ readonly note: string }>(
    `select request ->> 'note' as note from outlay.transfer where stage = 'blocked' and reason = 'key_expired'`,
  )
  const foundOut = await service.query<{ readonly account_id: string; readonly sum: string }>(
    `select account_id, sum(amount_value * case source_transfer_type when 'ach_debit' then -1 else 1 end)::text as sum
     from outlay_service.transfer
     where status = 'complete' and note = any ($1) and account_id = any ($2) and id <> all ($3) group by 1`,
    [undecided.rows.map(({ note }) => note), accounts, [...at.foreign.keys()]],
  )
  const others = await service.query<{ readonly account_id: string; readonly sum: string }>(
    `select account_id, sum(amount_value)::text as sum from outlay_service.transfer
     where status = 'complete' and id = any ($1) group by 1`,
    [[...at.foreign.keys()]],
  )
  // Payouts only: what comes back of one is in its wallet again.
  const returned = await service.query<{ readonly account_id: string; readonly sum: string }>(
    `select account_id, sum(-amount_value)::text as sum from outlay_service.transfer_return
     where account_id = any ($1) group by 1`,
    [accounts],
  )
  for (const { accountId, funded } of at.tenants) {
    const spent = [paid, others, foundOut, returned].map(({ rows }) =>
      cents(rows.find((row) => row.account_id === accountId)?.sum),
    )
    const left = funded * 100 - spent.reduce((sum, one) => sum + one, 0)
    const has = cents(balances.rows.find((row) => row.account_id === accountId && row.value_type === 'USDC')?.available)
    if (has !== left) found.push(`${accountId} has ${has} cents of USDC, and ${left} are left of what it got`)
  }
  return found.map((detail) => ({ invariant: 'ledger', detail }))
}

const cents = (amount = '0'): number => Math.round(Number(amount) * 100)
