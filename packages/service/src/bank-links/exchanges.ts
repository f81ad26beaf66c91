import { setTimeout as sleep } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import type { BankLinking, LinkedBankAccount, LinkedItem } from './port.ts'
import { askProvider } from './provider-call.ts'

/** The result of the exchange of a public token. */
export interface Exchange {
  readonly item: LinkedItem
  /** The selected bank accounts, in plain text. */
  readonly accounts: readonly LinkedBankAccount[]
}

/** Longer than the time limit of a call to the provider. */
const leaseMs = 30_000

/** First pause of a request that waits for another one's exchange, and the longest, which it reaches by doubling, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [50, 1_000]

/**
 * Exchanges a public token of an account at the provider and reads its bank accounts; `undefined` when it is already registered.
 * Every step commits at once, and nothing is locked during the call to the provider. Of several callers, one makes the exchange and
 * the others wait for it. An exchange that failed in between continues from its last step.
 * @throws OutlayError `invalid_request` for an invalid token, `conflict` past the limit of the wait,
 *   `service_unavailable` when the provider cannot be reached.
 */
export async function exchangePublicToken(
  executor: Executor,
  context: ServiceContext,
  { provider }: BankLinking,
  token: { readonly clientId: string; readonly accountId: string; readonly publicToken: string },
): Promise<Exchange | undefined> {
  const { clientId, accountId, publicToken } = token
  const key = [accountId, digestOfToken(context, publicToken)] as const
  const exchangeToken = () =>
    askProvider(context, provider, clientId, (options) =>
      provider.exchange({ ownerId: accountId, publicToken }, options),
    )
  const row = (await lease(executor, context, key)) ?? (await exchange(executor, context, key, exchangeToken))
  if (row.addressIds !== null || row.itemId === null || row.accessToken === null) return undefined
  const item = { itemId: row.itemId, accessToken: context.secrets.open(row.accessToken, placeOf(key)) }
  const accounts = await askProvider(context, provider, clientId, (options) => provider.listBankAccounts(item, options))
  return { item, accounts }
}

/** The financial institutions of a public token; null before it is registered. Locks it for the transaction. */
export async function findRegistered(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  publicToken: string,
): Promise<readonly string[] | null> {
  const [row] = await run(tx, context, lockExchange, [accountId, digestOfToken(context, publicToken)])
  return row?.addressIds ?? null
}

/** Writes the result of a public token, and deletes the access token here, because the item has it. */
export async function markRegistered(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  publicToken: string,
  addressIds: readonly string[],
): Promise<void> {
  await run(tx, context, updateRegistered, [accountId, digestOfToken(context, publicToken), addressIds])
}

/**
 * Deletes the results of public tokens that clients sent before `before`. By then the provider no longer accepts these tokens: it
 * refuses a late repeat as used. Returns how many. It goes through the table by its key and commits after each {@link pruneSize} rows.
 */
export async function pruneExchanges(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  let total = 0
  for (let after: readonly [string, string] | undefined = ['', '']; after !== undefined; ) {
    const [row]: readonly PrunedExchanges[] = await run(executor, context, deleteExchanges, [
      before,
      ...after,
      pruneSize,
    ])
    total += row?.deleted ?? 0
    after = row?.lastAccount == null || row.lastDigest === null ? undefined : [row.lastAccount, row.lastDigest]
  }
  return total
}

/** Number of rows that one statement reads to delete the old ones among them. */
const pruneSize = 1_000

type PrunedExchanges = ReturnType<typeof readPruned>

const readPruned = rowDecoder('pruned exchanges', {
  deleted: Column.integer,
  /** The key of the last row that was read; null when there are no more. */
  lastAccount: Column.nullable(Column.text),
  lastDigest: Column.nullable(Column.text),
})

/** The refusal of a public token that cannot be exchanged. */
export function publicTokenRefused(): OutlayError {
  const message = 'The public token is unknown, used or expired; open a new flow for this account.'
  return new OutlayError('invalid_request', message, { field: 'public_token' })
}

type Key = readonly [accountId: string, digest: string]

interface ExchangeRow {
  readonly itemId: string | null
  readonly accessToken: string | null
  readonly addressIds: readonly string[] | null
}

/** Undefined when this caller has to make the exchange, else the result of another caller's exchange. */
async function lease(executor: Executor, context: ServiceContext, key: Key): Promise<ExchangeRow | undefined> {
  for (const pauseMs of pausesOf(context.idempotencyWaitMs ?? 10_000)) {
    const now = context.clock.now()
    const values = [...key, now, new Date(now.getTime() + leaseMs)]
    if ((await run(executor, context, leaseExchange, values)).length > 0) return undefined
    const [row] = await run(executor, context, selectExchange, key)
    if (row !== undefined && row.itemId !== null) return row
    await sleep(pauseMs)
  }
  const message = 'Another request is exchanging this public token.'
  throw new OutlayError('conflict', message, { field: 'public_token', retryAfterMs: 1_000 })
}

/**
 * The pauses of a request that waits, in milliseconds: few, since each costs two statements and many may wait. The last one is as long as
 * what is left.
 */
export function pausesOf(waitMs: number): readonly number[] {
  const pauses: number[] = []
  let waited = 0
  for (let pauseMs = firstPauseMs; waited < waitMs; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    pauses.push(Math.min(pauseMs, waitMs - waited))
    waited += pauseMs
  }
  return [...pauses, 0]
}

async function exchange(
  executor: Executor,
  context: ServiceContext,
  key: Key,
  askForItem: () => Promise<LinkedItem | undefined>,
): Promise<ExchangeRow> {
  let row: ExchangeRow | undefined
  try {
    const item = await askForItem()
    if (item === undefined) throw publicTokenRefused()
    const sealed = context.secrets.seal(item.accessToken, placeOf(key))
    ;[row] = await run(executor, context, updateExchanged, [...key, item.itemId, sealed])
  } catch (error) {
    await run(executor, context, releaseExchange, key)
    throw error
  }
  if (row === undefined) throw new Error('The exchange of a public token lost its row.')
  return row
}

function digestOfToken(context: ServiceContext, publicToken: string): string {
  return context.secrets.mac('bank_link_exchange.public_token', publicToken)
}

function placeOf([accountId, digest]: Key) {
  return { table: 'bank_link_exchange', column: 'access_token', row: `${accountId} ${digest}` }
}

const readExchange: (row: Row) => ExchangeRow = rowDecoder('bank link exchange', {
  itemId: Column.nullable(Column.text),
  accessToken: Column.nullable(Column.text),
  addressIds: Column.nullable(Column.texts),
})

const columns = 'item_id, access_token, address_ids'

const leaseExchange = statement(
  'bank_link_exchange_lease',
  `insert into {{schema}}.bank_link_exchange as e (account_id, public_token_digest, leased_until, created_at)
   values ($1, $2, $4, $3)
   on conflict (account_id, public_token_digest) do update
      set leased_until = excluded.leased_until
    where e.item_id is null and e.leased_until <= $3
   returning true as leased`,
)

const selectExchange = statement(
  'bank_link_exchange_select',
  `select ${columns} from {{schema}}.bank_link_exchange where account_id = $1 and public_token_digest = $2`,
  readExchange,
)

const lockExchange = statement(
  'bank_link_exchange_lock',
  `select ${columns} from {{schema}}.bank_link_exchange
    where account_id = $1 and public_token_digest = $2
      for update`,
  readExchange,
)

const updateExchanged = statement(
  'bank_link_exchange_update_exchanged',
  `update {{schema}}.bank_link_exchange
      set item_id = $3, access_token = $4
    where account_id = $1 and public_token_digest = $2
   returning ${columns}`,
  readExchange,
)

const releaseExchange = statement(
  'bank_link_exchange_release',
  `delete from {{schema}}.bank_link_exchange
    where account_id = $1 and public_token_digest = $2 and item_id is null`,
)

const updateRegistered = statement(
  'bank_link_exchange_update_registered',
  `update {{schema}}.bank_link_exchange
      set address_ids = $3, access_token = null
    where account_id = $1 and public_token_digest = $2`,
)

const deleteExchanges = statement(
  'bank_link_exchange_prune',
  `with seen as materialized (
     select e.account_id, e.public_token_digest, row_number() over (order by e.account_id, e.public_token_digest) as place
       from {{schema}}.bank_link_exchange e
      where (e.account_id, e.public_token_digest) > ($2, $3)
      order by e.account_id, e.public_token_digest
      limit $4
   ), deleted as (
     delete from {{schema}}.bank_link_exchange e using seen s
      where e.account_id = s.account_id and e.public_token_digest = s.public_token_digest
        and e.created_at < $1 and e.leased_until < $1
     returning true
   )
   select (select count(*) from deleted)::int as deleted, l.account_id as last_account, l.public_token_digest as last_digest
     from (select 1) one
     left join seen l on l.place = $4`,
  readPruned,
)
