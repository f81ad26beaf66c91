import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { einPlace } from './accounts/accounts.ts'
import { virtualAccountIndex, virtualAccountPlace } from './automations/automations.ts'
import { inTransaction, type ServiceContext, type Tx } from './context.ts'
import { sqlStateOf } from './database/conflict.ts'
import { type Executor, run, statement } from './database/statement.ts'

const undefinedTable = '42P01'

type KeyContext = Pick<ServiceContext, 'schema' | 'secrets'>

/**
 * Refuses keys that are not those of the database: under others, virtual accounts are not found, so that deposits are returned, and requests
 * are not recognized. The first process stores digests of its keys, if they open what is stored.
 * @throws Error that says which keys are others. OutlayError `not_migrated`.
 */
export async function checkKeys(context: ServiceContext): Promise<void> {
  const { checks } = context.secrets
  const known = await inTransaction(context, (tx) => storeChecks(tx, context)).catch((error: unknown) => {
    if (sqlStateOf(error) !== undefinedTable) throw error
    throw new OutlayError('not_migrated', 'A migration of this release has not run. Run migrate() first.')
  })
  const others = othersOf(context, known)
  if (others.length > 0) throw new Error(otherKeys(others))
  const missing = [...known.keys()].filter((name) => !checks.has(name))
  if (missing.length > 0)
    context.logger.warn(
      { keys: missing },
      'Keys that the database knows are not in encryptionKey; what they have sealed cannot be read. Give all the keys.',
    )
}

/** Stores these keys as those of the database, as far as it has none of their names. Resolves with all that it has. */
async function storeChecks(tx: Tx, context: ServiceContext): Promise<ReadonlyMap<string, string>> {
  const { checks } = context.secrets
  const before = await readChecks(tx, context)
  const others = othersOf(context, before)
  if (others.length > 0) throw new Error(otherKeys(others))
  if ([...checks.keys()].every((name) => before.has(name))) return before
  await checkStored(tx, context)
  // Waits for another process that stores its own.
  await run(tx, context, insertChecks, [[...checks.keys()], [...checks.values()]])
  return await readChecks(tx, context)
}

/** Names of this process's keys that are others than those of the database. Reads on any connection. */
export async function findOtherKeys(executor: Executor | Tx, context: KeyContext): Promise<readonly string[]> {
  return othersOf(context, await readChecks(executor, context))
}

/** What to do about keys that are not those of the database, by their names in `key_check`. */
export function otherKeys(names: readonly string[]): string {
  return (
    `encryptionKey is not that of this database (${names.join(', ')}): deposits would be returned and nothing stored could be read. ` +
    'Give this process the keys that the other processes have, or the database that belongs to the key. ' +
    'A new key goes first in encryptionKey.keys, with an id of its own, before all the old ones, and macKey stays the same.'
  )
}

function othersOf({ secrets }: KeyContext, known: ReadonlyMap<string, string>): readonly string[] {
  return [...secrets.checks].flatMap(([name, value]) => ((known.get(name) ?? value) === value ? [] : [name]))
}

async function readChecks(executor: Executor | Tx, context: KeyContext): Promise<ReadonlyMap<string, string>> {
  const rows = await run(executor, context, selectChecks)
  return new Map(rows.map(({ name, value }) => [name, value]))
}

/** Some of what earlier releases have sealed, the oldest and the newest. @throws Error when these keys do not open it. */
async function checkStored(tx: Tx, context: ServiceContext): Promise<void> {
  const { secrets } = context
  for (const { id, ein } of await run(tx, context, selectSealed)) {
    if (!isOpened(() => secrets.open(ein, einPlace(id)))) throw new Error(otherKeys(['key']))
  }
  for (const { id, sealed, routingNumber, index } of await run(tx, context, selectVirtual)) {
    const found = isOpened(() => {
      const accountNumber = secrets.open(sealed, virtualAccountPlace(id))
      return virtualAccountIndex(context, { routingNumber, accountNumber }) === index
    })
    if (!found) throw new Error(otherKeys(['digests']))
  }
}

function isOpened(open: () => unknown): boolean {
  try {
    return open() !== false
  } catch {
    return false
  }
}

const selectChecks = statement(
  'key_check_all',
  'select name, value from {{schema}}.key_check',
  rowDecoder('key check', { name: Column.text, value: Column.text }),
)

const insertChecks = statement(
  'key_check_store',
  `insert into {{schema}}.key_check (name, value)
   select name, value from unnest($1::text[], $2::text[]) as given (name, value) order by name
   on conflict do nothing`,
)

const selectSealed = statement(
  'key_check_sealed',
  `(select id, ein from {{schema}}.account order by id limit 1)
   union all
   (select id, ein from {{schema}}.account order by id desc limit 1)`,
  rowDecoder('sealed value', { id: Column.text, ein: Column.text }),
)

const selectVirtual = statement(
  'key_check_virtual',
  `select id, account_number as sealed, routing_number, account_number_index as index
     from {{schema}}.automation where account_number_index is not null order by account_number_index limit 1`,
  rowDecoder('sealed account number', {
    id: Column.text,
    sealed: Column.text,
    routingNumber: Column.text,
    index: Column.text,
  }),
)
