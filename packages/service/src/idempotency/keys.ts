import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { sqlStateOf } from '../database/conflict.ts'
import { type Executor, run, statement } from '../database/statement.ts'

/** The response that is stored under an idempotency key. */
export interface StoredResponse {
  readonly status: number
  /** The exact text of the body. */
  readonly body: string
}

/** An idempotency key of a client, with a fingerprint of the request. */
export interface KeyedRequest {
  readonly clientId: string
  readonly idempotencyKey: string
  /** Equal only for equal requests. It is keyed, so it reveals nothing about its input. */
  readonly fingerprint: string
}

/** The record of a key. */
export interface KeyRecord {
  readonly fingerprint: string
  readonly response: StoredResponse
}

/**
 * Claims the key for the transaction. False when another request already has it. While that request is undecided, this waits up
 * to the transaction's `lock_timeout`.
 */
export async function claimKey(tx: Tx, context: ServiceContext, request: KeyedRequest): Promise<boolean> {
  const values = [request.clientId, request.idempotencyKey, request.fingerprint, context.clock.now()]
  return (await run(tx, context, insertKey, values)).length > 0
}

/**
 * Claims the key and stores the response, in one statement. It waits as {@link claimKey} does.
 * @throws an error of Postgres for which {@link isKeyTaken} is true when another request has the key.
 */
export async function answerKey(
  tx: Tx,
  context: ServiceContext,
  request: KeyedRequest,
  response: StoredResponse,
  sealed: boolean,
): Promise<void> {
  const { clientId, idempotencyKey, fingerprint } = request
  const body = bodyToStore(context, request, response, sealed)
  const values = [clientId, idempotencyKey, fingerprint, context.clock.now(), response.status, body, sealed]
  await run(tx, context, insertAnsweredKey, values)
}

/** True for the error of a statement that claims a key that another request has. */
export function isKeyTaken(error: unknown): boolean {
  return sqlStateOf(error) === uniqueViolation && (error as { constraint?: unknown }).constraint === keyConstraint
}

const uniqueViolation = '23505'
const keyConstraint = 'idempotency_key_pkey'

/** Stores the response under a key that the transaction holds. With `sealed` the body is encrypted at rest. */
export async function storeResponse(
  tx: Tx,
  context: ServiceContext,
  request: KeyedRequest,
  response: StoredResponse,
  sealed: boolean,
): Promise<void> {
  const body = bodyToStore(context, request, response, sealed)
  await run(tx, context, updateResponse, [request.clientId, request.idempotencyKey, response.status, body, sealed])
}

/** The record of a key; `undefined` when there is none. */
export async function findKey(
  executor: Executor | Tx,
  context: ServiceContext,
  request: KeyedRequest,
): Promise<KeyRecord | undefined> {
  const [row] = await run(executor, context, selectKey, [request.clientId, request.idempotencyKey])
  if (row === undefined || row.responseStatus === null || row.responseBody === null) return undefined
  const body = row.responseSealed ? context.secrets.open(row.responseBody, placeOf(request)) : row.responseBody
  return { fingerprint: row.fingerprint, response: { status: row.responseStatus, body } }
}

/** Blocks of the table of keys from which one statement deletes: a thousand keys or so. */
const pruneBlocks = 128

/**
 * Deletes keys that were first used before `before`. Returns how many. It commits after each {@link pruneBlocks} blocks of the table, which has
 * no index by time: while a long transaction runs, Postgres keeps what others delete.
 */
export async function pruneKeys(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  const [size] = await run(executor, context, selectBlocks)
  let total = 0
  for (let block = 0; block < (size?.blocks ?? 0); block += pruneBlocks) {
    const values = [before, `(${block},0)`, `(${block + pruneBlocks},0)`]
    const [deleted] = await run(executor, context, deleteKeys, values)
    total += deleted?.count ?? 0
  }
  return total
}

const readKey = rowDecoder('idempotency key', {
  fingerprint: Column.text,
  responseStatus: Column.nullable(Column.integer),
  responseBody: Column.nullable(Column.text),
  responseSealed: Column.boolean,
})

function bodyToStore(
  context: ServiceContext,
  request: KeyedRequest,
  { body }: StoredResponse,
  sealed: boolean,
): string {
  return sealed ? context.secrets.seal(body, placeOf(request)) : body
}

function placeOf(request: KeyedRequest) {
  const row = JSON.stringify([request.clientId, request.idempotencyKey])
  return { table: 'idempotency_key', column: 'response_body', row }
}

const insertKey = statement(
  'idempotency_key_insert',
  `insert into {{schema}}.idempotency_key (client_id, idempotency_key, fingerprint, created_at)
   values ($1, $2, $3, $4)
   on conflict (client_id, idempotency_key) do nothing
   returning true as claimed`,
)

const insertAnsweredKey = statement(
  'idempotency_key_insert_answered',
  `insert into {{schema}}.idempotency_key
     (client_id, idempotency_key, fingerprint, created_at, response_status, response_body, response_sealed)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

const updateResponse = statement(
  'idempotency_key_update_response',
  `update {{schema}}.idempotency_key
      set response_status = $3, response_body = $4, response_sealed = $5
    where client_id = $1 and idempotency_key = $2`,
)

const selectKey = statement(
  'idempotency_key_select',
  `select fingerprint, response_status, response_body, response_sealed
     from {{schema}}.idempotency_key
    where client_id = $1 and idempotency_key = $2`,
  readKey,
)

const selectBlocks = statement(
  'idempotency_key_select_blocks',
  `select (pg_relation_size('{{schema}}.idempotency_key') / current_setting('block_size')::bigint)::int as blocks`,
  rowDecoder('idempotency key', { blocks: Column.integer }),
)

const deleteKeys = statement(
  'idempotency_key_prune',
  `with deleted as (
     delete from {{schema}}.idempotency_key where ctid >= $2::tid and ctid < $3::tid and created_at < $1 returning true
   )
   select count(*)::int as count from deleted`,
  rowDecoder('idempotency key', { count: Column.integer }),
)
