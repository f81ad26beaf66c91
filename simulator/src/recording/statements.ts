import type { Balance, ServiceLine } from '@outlay/judge'

/** Asks a database; answers with its rows. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Reads the service's statements and balances by SQL, as an auditor with read access would. */
export interface Statements {
  /** What changed since the last read: statuses, and wallets. */
  check(): Promise<readonly ServiceLine[]>
  /** Everything, at the end. */
  readAll(): Promise<readonly ServiceLine[]>
}

/** Makes a reader of the statements of some accounts. */
export function createStatements(query: Query, accounts: readonly string[], schema = 'outlay_service'): Statements {
  const known = new Map<string, string>()
  const readBalances = async (last: boolean): Promise<readonly Balance[]> => {
    const at = Date.now()
    const rows = await query(
      `select id::text as ledger, kind as owner, account_id as account, address_id as address, value_type as value,
         transfer_type as rail, available::text, held::text from ${schema}.ledger_account
       where kind = 'custodial' and account_id = any ($1)`,
      [accounts],
    )
    return rows.map((row) => ({ kind: 'balance', at, last, ...row }) as unknown as Balance)
  }
  const isNews = (id: string, text: string) => known.get(id) !== text && known.set(id, text) !== undefined
  return {
    async check() {
      const at = Date.now()
      const rows = await query(
        `select id, status, coalesce((failure ->> 'retriable')::boolean, false) as retriable from ${schema}.transfer
         where account_id = any ($1)`,
        [accounts],
      )
      const statuses = rows.map(
        (row) => ({ kind: 'status', at, ...row }) as unknown as Extract<ServiceLine, { kind: 'status' }>,
      )
      const balances = await readBalances(false)
      return [
        ...statuses.filter(({ id, status, retriable }) => isNews(id, `${status} ${retriable}`)),
        ...balances.filter(({ ledger, available, held }) => isNews(`balance ${ledger}`, `${available} ${held}`)),
      ]
    },
    async readAll() {
      const leg = (end: string) => `jsonb_strip_nulls(jsonb_build_object('address', ${end}_address_id,
        'valueType', ${end}_value_type, 'transferType', ${end}_transfer_type)) as ${end}`
      const transfers = await query(
        `select id, account_id as account, status, coalesce((failure ->> 'retriable')::boolean, false) as retriable,
           jsonb_build_object('value', amount_value::text, 'currency', amount_currency) as amount,
           ${leg('source')}, ${leg('destination')}, note
         from ${schema}.transfer where account_id = any ($1) order by id`,
        [accounts],
      )
      const entries = await query(
        `select posting_id as posting, step, ledger_account_id::text as ledger, bucket, value_type as value, amount::text
         from ${schema}.ledger_entry where posting_id in (select posting_id from ${schema}.ledger_entry e
           join ${schema}.ledger_account a on a.id = e.ledger_account_id where a.account_id = any ($1))
           or posting_id in (select id from ${schema}.transfer where account_id = any ($1))`,
        [accounts],
      )
      const tagged = [
        ...transfers.map((row) => ({ kind: 'transfer', ...row })),
        ...entries.map((row) => ({ kind: 'entry', ...row })),
      ]
      return [...(tagged as unknown as ServiceLine[]), ...(await readBalances(true))]
    },
  }
}
