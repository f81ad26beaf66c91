import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'
import { resolveNames } from '../schema/database-names.ts'

const texts = {
  // No index has keys without their accounts, so each account is looked up in the one that has both.
  with_key: `with recursive known as (
      (select t.account_id, 1 as place from {{schema}}.transfer t order by t.account_id limit 1)
      union all
      select (select t.account_id from {{schema}}.transfer t where t.account_id > k.account_id order by t.account_id limit 1), k.place + 1
      from known k where k.account_id is not null and k.place < $3
    ), searched as (
      select account_id from known where $2::text[] is null and account_id is not null
      union all select distinct unnest($2::text[])
    )
    select array(
        select t.id from searched s
        cross join lateral (select t.id from {{schema}}.transfer t where t.account_id = s.account_id and t.idempotency_key = $1 limit 1) t
        order by t.id desc limit $4 + 1
      ) as ids,
      $2::text[] is null and exists (
        select from (select max(k.account_id) as account_id from known k having count(k.account_id) = $3) k
        where exists (select from {{schema}}.transfer t where t.account_id > k.account_id)
      ) as is_cut`,
} as const

/** Which transfers are wanted. */
export interface KeyQuery {
  readonly idempotencyKey: string
  /** Only transfers of these accounts. Default: of all accounts that have any. */
  readonly accountIds?: readonly string[] | undefined
  /** Most accounts that are searched where none are named, by their ids. */
  readonly mostAccounts: number
  readonly limit: number
}

/** What a search for a key has found. */
export interface KeyFound {
  /** Ids of transfers, the newest first. */
  readonly ids: readonly string[]
  /** True where there are more accounts than were searched, or more transfers than `limit`: others may have the key, too. */
  readonly isCut: boolean
}

/** Makes the search for transfers by their idempotency key, the newest first: each account has a key once. */
export function keySearch<Tx>({
  driver,
  schema,
}: {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
}): (query: KeyQuery) => Promise<KeyFound> {
  const sql = statements(resolveNames({ schema }).tokens, texts)
  return async ({ idempotencyKey, accountIds, mostAccounts, limit }) => {
    const rows = await driver.query(sql.with_key, [idempotencyKey, accountIds ?? null, mostAccounts, limit])
    const { ids = [], isCut = false } = readFirst(readFound, rows) ?? {}
    return { ids: ids.slice(0, limit), isCut: isCut || ids.length > limit }
  }
}

const readFound = rowDecoder('found transfers', { ids: Column.texts, isCut: Column.boolean })
