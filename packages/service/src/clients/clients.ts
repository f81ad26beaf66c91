import { Id } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import { type Caller, type Environment, type Scope, scopes } from '../schema/caller.ts'
import { digestOf } from '../secrets.ts'

/** A client to register. */
export interface NewClient {
  readonly name: string
  readonly environment: Environment
  /** Default: every scope. */
  readonly scopes?: readonly Scope[] | undefined
  /** Accounts that it owns (the first one) and manages (the others). */
  readonly accountIds?: readonly string[] | undefined
}

/** The credentials of a client; the secret cannot be read again. */
export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

const secretPrefix = 'os_'

/** Registers a client with its first secret. */
export async function registerClient(tx: Tx, context: ServiceContext, client: NewClient): Promise<ClientCredentials> {
  const clientId = Id.generate(context.clock, context.random)
  const clientSecret = newSecret(context)
  const now = context.clock.now()
  await run(tx, context, insertClient, [clientId, client.name, client.environment, client.scopes ?? scopes, now])
  await run(tx, context, insertSecret, [
    Id.generate(context.clock, context.random),
    clientId,
    digestOf(clientSecret),
    now,
  ])
  for (const accountId of client.accountIds ?? []) await grantAccount(tx, context, clientId, accountId)
  return { clientId, clientSecret }
}

/** Gives the client a new secret. The previous one stays valid, so both work while the host switches over. */
export async function rotateClientSecret(
  tx: Tx,
  context: ServiceContext,
  clientId: string,
): Promise<ClientCredentials> {
  const clientSecret = newSecret(context)
  await run(tx, context, retireSecrets, [clientId])
  await run(tx, context, insertSecret, [
    Id.generate(context.clock, context.random),
    clientId,
    digestOf(clientSecret),
    context.clock.now(),
  ])
  return { clientId, clientSecret }
}

/** Grants an account to the client: as its own if it is the first one, otherwise as managed. Both have the same environment. */
export async function grantAccount(
  tx: Tx,
  context: ServiceContext,
  clientId: string,
  accountId: string,
): Promise<void> {
  const granted = await run(tx, context, insertClientAccount, [clientId, accountId, context.clock.now()])
  if (granted.length === 0) throw new Error('The client and the account must exist and be of the same environment.')
}

/** The client with this id and secret; `undefined` when the pair is wrong. */
export async function findClientBySecret(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  clientSecret: string,
): Promise<Omit<Caller, 'expiresAt'> | undefined> {
  const [client] = await run(executor, context, selectClientBySecret, [clientId, digestOf(clientSecret)])
  return client
}

/** The clients with these ids and secrets, in the order given; `undefined` for a pair that is wrong. One statement. */
export async function findClientsBySecret(
  executor: Executor | Tx,
  context: ServiceContext,
  pairs: readonly { readonly clientId: string; readonly digest: Buffer }[],
): Promise<readonly (Omit<Caller, 'expiresAt'> | undefined)[]> {
  const values = [pairs.map(({ clientId }) => clientId), pairs.map(({ digest }) => digest.toString('hex'))]
  const rows = await run(executor, context, selectClientsBySecret, values)
  const found = new Map(rows.map(({ position, ...client }) => [position, client]))
  return pairs.map((_, at) => found.get(at + 1))
}

/** The callers whose tokens have these digests, as {@link findCaller} finds one. One statement. */
export async function findCallers(
  executor: Executor | Tx,
  context: ServiceContext,
  tokenDigests: readonly Buffer[],
): Promise<readonly (Caller | undefined)[]> {
  const rows = await run(executor, context, selectCallers, [tokenDigests.map((one) => one.toString('hex'))])
  const found = new Map(rows.map(({ position, ...caller }) => [position, caller]))
  return tokenDigests.map((_, at) => found.get(at + 1))
}

/** The caller whose token has this digest, expired or not; `undefined` for an unknown or revoked token. */
export async function findCaller(
  executor: Executor | Tx,
  context: ServiceContext,
  tokenDigest: Buffer,
): Promise<Caller | undefined> {
  const [caller] = await run(executor, context, selectCaller, [tokenDigest])
  return caller
}

/** True when the client owns or manages the account. */
export async function isAccountOfClient(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  accountId: string,
): Promise<boolean> {
  return (await run(executor, context, selectClientAccount, [clientId, accountId])).length > 0
}

/** Ids of the client's accounts, its own first, the managed ones in the order in which they were granted. */
export async function listAccountIds(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
): Promise<readonly string[]> {
  const rows = await run(executor, context, selectClientAccounts, [clientId])
  return rows.map(({ accountId }) => accountId)
}

function newSecret(context: ServiceContext): string {
  return secretPrefix + Buffer.from(context.random.bytes(32)).toString('base64url')
}

const clientColumns = {
  clientId: Column.text,
  environment: Column.word<Environment>(),
  scopes: Column.words<Scope>(),
}
const readClient = rowDecoder('client', clientColumns)
const callerColumns = { ...clientColumns, expiresAt: Column.isoTime }
const readCaller = rowDecoder('access token', callerColumns)
const readPlacedClient = rowDecoder('client', { ...clientColumns, position: Column.integer })
const readPlacedCaller = rowDecoder('access token', { ...callerColumns, position: Column.integer })
const readAccountId = rowDecoder('account of a client', { accountId: Column.text })

const insertClient = statement(
  'client_insert',
  `insert into {{schema}}.client (id, name, environment, scopes, created_at) values ($1, $2, $3, $4, $5)`,
)

const insertSecret = statement(
  'client_secret_insert',
  `insert into {{schema}}.client_secret (id, client_id, digest, created_at) values ($1, $2, $3, $4)`,
)

const retireSecrets = statement(
  'client_secret_retire',
  `delete from {{schema}}.client_secret
    where client_id = $1
      and id not in (
        select id from {{schema}}.client_secret where client_id = $1 order by created_at desc, id desc limit 1
      )`,
)

const insertClientAccount = statement(
  'client_account_insert',
  `insert into {{schema}}.client_account as granted (client_id, account_id, created_at)
   select c.id, a.id, $3
     from {{schema}}.client c
     join {{schema}}.account a on a.environment = c.environment
    where c.id = $1 and a.id = $2
   on conflict (client_id, account_id) do update set account_id = granted.account_id
   returning true as granted`,
)

const selectClientBySecret = statement(
  'client_select_by_secret',
  `select c.id as client_id, c.environment, c.scopes
     from {{schema}}.client c
     join {{schema}}.client_secret s on s.client_id = c.id
    where c.id = $1 and s.digest = $2`,
  readClient,
)

const selectClientsBySecret = statement(
  'client_select_by_secrets',
  `select c.id as client_id, c.environment, c.scopes, given.position::int as position
     from unnest($1::text[], $2::text[]) with ordinality as given (client_id, digest, position)
     join {{schema}}.client c on c.id = given.client_id
     join {{schema}}.client_secret s on s.client_id = c.id and s.digest = decode(given.digest, 'hex')`,
  readPlacedClient,
)

const selectCallers = statement(
  'client_select_by_tokens',
  `select c.id as client_id, c.environment, t.scopes, t.expires_at, given.position::int as position
     from unnest($1::text[]) with ordinality as given (digest, position)
     join {{schema}}.access_token t on t.digest = decode(given.digest, 'hex')
     join {{schema}}.client c on c.id = t.client_id`,
  readPlacedCaller,
)

const selectCaller = statement(
  'client_select_by_token',
  `select c.id as client_id, c.environment, t.scopes, t.expires_at
     from {{schema}}.access_token t
     join {{schema}}.client c on c.id = t.client_id
    where t.digest = $1`,
  readCaller,
)

const selectClientAccount = statement(
  'client_account_select',
  `select 1 from {{schema}}.client_account where client_id = $1 and account_id = $2`,
)

const selectClientAccounts = statement(
  'client_account_list',
  `select account_id from {{schema}}.client_account where client_id = $1 order by position`,
  readAccountId,
)
