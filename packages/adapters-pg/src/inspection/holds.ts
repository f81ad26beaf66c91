import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/**
 * Accounts whose transfers are not sent, apart from stops; at most 100 of each kind. An account at a gateway other than `default` has the
 * gateway's name and a space before its id, but not where it is paused.
 */
export interface HoldFacts {
  readonly paused: readonly string[]
  /** The service refuses their credentials. */
  readonly refused: readonly string[]
  /** The service asked for a pause, which is not over. */
  readonly throttled: readonly string[]
}

const texts = {
  holds: `select
      array(select a.account_id from {{schema}}.account a
        where a.paused and ($1::text is null or a.account_id = $1) order by a.account_id limit 100) as paused,
      array(select r.account_id from {{schema}}.unauthorized_account r
        where $1::text is null or {{schema}}.account_of(r.account_id) = $1 order by r.account_id limit 100) as refused,
      array(select p.account_id from {{schema}}.account_throttle p
        where p.throttled_until > statement_timestamp() and ($1::text is null or {{schema}}.account_of(p.account_id) = $1) order by p.account_id limit 100) as throttled`,
} as const

/** Makes the read of what holds accounts back. */
export function createHoldsRead<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  return {
    /** What holds an account, or any account, apart from stops and from what holds all of them. */
    async holds(accountId?: string): Promise<HoldFacts> {
      const [row = {}] = await driver.query(sql.holds, [accountId ?? null])
      return readHolds(row)
    },
  }
}

const readHolds: (row: Row) => HoldFacts = rowDecoder('holds', {
  paused: Column.texts,
  refused: Column.texts,
  throttled: Column.texts,
})
