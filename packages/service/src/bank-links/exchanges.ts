import { setTimeout as sleep } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import type { BankLinking, LinkedBankAccount, LinkedItem } from './port.ts'
import { askProvider } from './provider-call.ts'

/** What a public token was exchanged for. */
export interface Exchange {
  readonly item: LinkedItem
  /** The selected bank accounts, in clear. */
  readonly accounts: readonly LinkedBankAccount[]
}

/** Longer than a call to the provider may take. */
const leaseMs = 30_000
const pauseMs = 50

/**
 * Exchanges a public token of an account at the provider and reads what it stands for; `undefined` when it is registered
 * already. Every step commits at once, and nothing is locked while the provider is asked: of several callers one does the
 * exchange, the others wait for it, and one that failed in between goes on where it was.
 * @throws OutlayError `invalid_request` for a token that is no good, `conflict` past the bound of the wait,
 *   `service_unavailable` when the provider cannot be asked.
 */
export async function exchangePublicToken(
  executor: Executor,
  context: ServiceContext,
  { provider }: BankLinking,
  token: { readonly accountId: string; readonly publicToken: string },
): Promise<Exchange | undefined> {
  const { accountId, publicToken } = token
  const key = [accountId, digestOfToken(context, publicToken)] as const
  const row = (await lease(executor, context, key)) ?? (await exchange(executor, context, provider, key, publicToken))
  if (row.address_ids !== null || row.item_id === null || row.access_token === null) return undefined
  const item = { itemId: row.item_id, accessToken: context.secrets.open(row.access_token, placeOf(key)) }
  const accounts = await askProvider(context, (options) => provider.listBankAccounts(item, options))
  return { item, accounts }
}

/** The financial institutions that came of a public token; null before it is registered. Locks it for the transaction. */
export async function findRegistered(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  publicToken: string,
): Promise<readonly string[] | null> {
  const [row] = await run<ExchangeRow>(tx, context, lockExchange, [accountId, digestOfToken(context, publicToken)])
  return row?.address_ids ?? null
}

/** Writes what came of a public token, and forgets the access token here: the item has it. */
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
 * Forgets what became of public tokens that were brought before `before`, which is long after a provider takes them: a late
 * repetition is refused as used. Returns how many.
 */
export async function pruneExchanges(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  return (await run(executor, context, deleteExchanges, [before])).length
}

/** The refusal of a public token that cannot be exchanged. */
export function publicTokenRefused(): OutlayError {
  const message = 'The public token is unknown, used or expired; open a new flow for this account.'
  return new OutlayError('invalid_request', message, { field: 'public_token' })
}

type Key = readonly [accountId: string, digest: string]

interface ExchangeRow {
  readonly item_id: string | null
  readonly access_token: string | null
  readonly address_ids: readonly string[] | null
}

/** Nothing when this caller is to do the exchange, else what another caller's exchange has given. */
async function lease(executor: Executor, context: ServiceContext, key: Key): Promise<ExchangeRow | undefined> {
  const tries = Math.ceil((context.idempotencyWaitMs ?? 10_000) / pauseMs)
  for (let tried = 0; tried <= tries; tried += 1) {
    const now = context.clock.now()
    const values = [...key, now, new Date(now.getTime() + leaseMs)]
    if ((await run(executor, context, leaseExchange, values)).length > 0) return undefined
    const [row] = await run<ExchangeRow>(executor, context, selectExchange, key)
    if (row !== undefined && row.item_id !== null) return row
    await sleep(pauseMs)
  }
  const message = 'Another request is exchanging this public token.'
  throw new OutlayError('conflict', message, { field: 'public_token', retryAfterMs: 1_000 })
}

async function exchange(
  executor: Executor,
  context: ServiceContext,
  provider: BankLinking['provider'],
  key: Key,
  publicToken: string,
): Promise<ExchangeRow> {
  let row: ExchangeRow | undefined
  try {
    const token = { ownerId: key[0], publicToken }
    const item = await askProvider(context, (options) => provider.exchange(token, options))
    if (item === undefined) throw publicTokenRefused()
    const sealed = context.secrets.seal(item.accessToken, placeOf(key))
    ;[row] = await run<ExchangeRow>(executor, context, updateExchanged, [...key, item.itemId, sealed])
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
)

const lockExchange = statement(
  'bank_link_exchange_lock',
  `select ${columns} from {{schema}}.bank_link_exchange
    where account_id = $1 and public_token_digest = $2
      for update`,
)

const updateExchanged = statement(
  'bank_link_exchange_update_exchanged',
  `update {{schema}}.bank_link_exchange
      set item_id = $3, access_token = $4
    where account_id = $1 and public_token_digest = $2
   returning ${columns}`,
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
  `delete from {{schema}}.bank_link_exchange where created_at < $1 and leased_until < $1 returning true as deleted`,
)
