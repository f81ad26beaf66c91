import { Limits } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import type { Caller, Scope } from '../schema/caller.ts'
import { digestOf } from '../secrets.ts'

/** A new access token; it cannot be read again. */
export interface AccessToken {
  readonly accessToken: string
  /** Seconds until it expires. */
  readonly expiresIn: number
  readonly scopes: readonly Scope[]
}

/** Issues a token to a client, valid for about one hour. Only its digest is stored. Specification: "Authentication" 3. */
export async function issueToken(
  executor: Executor | Tx,
  context: ServiceContext,
  client: Omit<Caller, 'expiresAt'>,
  scopes: readonly Scope[],
): Promise<AccessToken> {
  const accessToken = Buffer.from(context.random.bytes(32)).toString('base64url')
  const now = context.clock.now()
  const expiresAt = new Date(now.getTime() + Limits.accessTokenMs)
  await run(executor, context, insertToken, [digestOf(accessToken), client.clientId, scopes, expiresAt, now])
  return { accessToken, expiresIn: Limits.accessTokenMs / 1000, scopes }
}

/** Revokes a token of the client. False when the client has no such token. */
export async function revokeToken(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  accessToken: string,
): Promise<boolean> {
  return (await run(executor, context, deleteToken, [digestOf(accessToken), clientId])).length > 0
}

/** Number of tokens that one statement deletes. */
const pruneSize = 1_000

/**
 * Deletes tokens that expired before `before`. Returns how many. It commits after each {@link pruneSize} of them: while a long transaction runs,
 * Postgres keeps what others delete.
 */
export async function pruneTokens(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  let total = 0
  for (let deleted = pruneSize; deleted === pruneSize; total += deleted)
    deleted = (await run(executor, context, deleteEnded, [before, pruneSize])).length
  return total
}

const insertToken = statement(
  'access_token_insert',
  `insert into {{schema}}.access_token (digest, client_id, scopes, expires_at, created_at) values ($1, $2, $3, $4, $5)`,
)

const deleteToken = statement(
  'access_token_delete',
  `delete from {{schema}}.access_token where digest = $1 and client_id = $2 returning true as deleted`,
)

const deleteEnded = statement(
  'access_token_prune',
  `with old as materialized (
     select digest from {{schema}}.access_token where expires_at < $1 order by expires_at limit $2
   )
   delete from {{schema}}.access_token t using old where t.digest = old.digest returning true as deleted`,
)
