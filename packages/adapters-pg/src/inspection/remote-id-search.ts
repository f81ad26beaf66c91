import type { Driver } from '../database/driver.ts'
import { readIds } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'
import { resolveNames } from '../schema/database-names.ts'

const texts = {
  with_remote_id: `select t.id from {{schema}}.transfer t
    where t.remote_id = $1 and ($2::text[] is null or t.account_id = any ($2)) order by t.id desc limit $3`,
} as const

/** Which transfers are wanted. */
export interface RemoteIdQuery {
  readonly remoteId: string
  /** Only transfers of these accounts. Default: of all accounts. */
  readonly accountIds?: readonly string[] | undefined
  readonly limit: number
}

/** Where the transfers are. */
export interface RemoteIdSearchOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
}

/** Makes the search for transfers by their id at the service, the newest first; one account has it once at one gateway. */
export function remoteIdSearch<Tx>({
  driver,
  schema,
}: RemoteIdSearchOptions<Tx>): (query: RemoteIdQuery) => Promise<readonly string[]> {
  const sql = statements(resolveNames({ schema }).tokens, texts)
  return async ({ remoteId, accountIds, limit }) =>
    readIds(await driver.query(sql.with_remote_id, [remoteId, accountIds ?? null, limit]))
}
