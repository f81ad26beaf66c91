import { OutlayError } from '@outlay/core'
import { printable } from '../output/table.ts'

/** A refusal of the command line itself: the problem, and what to do next. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** What to do next; one sentence. */
  readonly next: string
  /** For scripts, in JSON. */
  readonly code: string

  constructor(message: string, next: string, code = 'refused') {
    super(message)
    this.next = next
    this.code = code
  }
}

/** A refusal of what a person has typed, whatever the database has: the exit code is 2. */
export class Misuse extends Refusal {}

/** A command that failed when it had committed a part of its work. The cause is why. */
export class Unfinished extends Error {
  override readonly name = 'Unfinished'

  /** `done` says in a sentence or two what is committed. */
  constructor(done: string, cause: unknown) {
    super(done, { cause })
  }
}

/** The message of a failed command. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly next: string
}

const migrate = 'Run "outlay migrate", or give --schema if the engine is in another one.'

/** What has become of a command that did not get a lock. */
const nothing = 'Its transaction was rolled back: NOTHING was stopped, paused or changed by it.'

const serverProblems: Readonly<Record<string, readonly [message: string, next: string]>> = {
  ECONNREFUSED: ['No server answers there.', 'Check host and port of --database-url, and that Postgres is running.'],
  ENOTFOUND: ['The host is not known.', 'Check the host of --database-url.'],
  ETIMEDOUT: ['The server did not answer in time.', 'Check the network between here and the database.'],
  ECONNRESET: ['The connection was closed.', 'Check whether the server restarts, or wants TLS: add ?sslmode=require.'],
  '28P01': ['The server refuses the password.', 'Check user and password of --database-url.'],
  '28000': ['The server refuses this user.', 'Check the user of --database-url, and whether the server wants TLS.'],
  '3D000': ['There is no such database.', 'Check the name at the end of --database-url, or create it.'],
  '3F000': ['The schema of the engine does not exist.', migrate],
  '42P01': ['The schema of the engine does not exist, or is older than this command.', migrate],
  '42883': ['The schema of the engine does not exist, or is older than this command.', migrate],
  '42501': [
    'The user may not do this.',
    'Use a login of the role that owns the schema, or of one that "outlay roles" makes: the reader to read, the worker to change something, the migrator to migrate.',
  ],
  '25006': ['The database is read-only.', 'Connect to the primary; a replica is enough for reads only.'],
  '53300': ['The server has no connection left.', 'Wait, or find out who holds them in pg_stat_activity.'],
  '55P03': [
    'Another session holds a lock that this needs.',
    `Run it again, and meanwhile "select pg_blocking_pids(pid) from pg_stat_activity where application_name = 'outlay-cli'" in psql, which names the processes that hold it; "outlay doctor" does too. pg_terminate_backend(<pid>) ends one; its transaction is rolled back.`,
  ],
  '57014': [
    'The statement took too long.',
    'Try again with a narrower filter; "outlay doctor" names what slows reads.',
  ],
}

const ownCatalog =
  'If the host has a catalog of its own, give --gateway-module with a module that exports it as "catalog", or resubmit from the code of the host.'

const refusalNext: Readonly<Record<string, string>> = {
  not_migrated: migrate,
  insufficient_privilege: 'Run what the message names, or use a login of the role that it names.',
  schema_too_new: 'Use the command line of the release that migrated this database.',
  queue_version_untested: 'Install the release that fits, or run "outlay doctor" to see which it is.',
  transfer_not_found: 'Check the id; "outlay transfers list" shows all transfers.',
  transfer_not_cancelable: 'Run "outlay prove" for the evidence about it.',
  approval_refused: 'Run "outlay transfers show" for who has approved it and who may.',
  policy_refused: 'Run "outlay policies show" for the policy.',
  policy_unknown: `${'Use the command line of the release that set the policies. '}${ownCatalog}`,
  subscription_attended: 'Stop the processes that subscribe to it, wait for two minutes, and run it again.',
  events_undelivered: 'Start a process that handles them, or run it again with --discard to delete them.',
  unknown_transfer_type: ownCatalog,
  unknown_value_type: ownCatalog,
  environment_mismatch: 'Use the gateway of the environment that the database belongs to.',
  database_unfamiliar: 'Run "outlay adopt-database" if this is the database to pay from, then run this again.',
  conflict: 'Run "outlay transfers show" for its state.',
  invalid_id: 'A transfer id is 26 characters; "outlay transfers list" shows them.',
  idempotency_key_invalid: 'Give --key 1 to 255 visible ASCII characters, or leave it out.',
  idempotency_key_mismatch: 'Use another --key.',
  wrong_node: 'Check which connection string belongs to which node.',
  node_unavailable: 'Check the network and the server of that node.',
  account_moving: 'Try again in a few seconds; "outlay accounts move" goes on with a move that was interrupted.',
}

/** An id that is refused is one of a transfer unless it says otherwise. */
const accountNext = ({ code, field }: OutlayError): string | undefined =>
  code === 'invalid_id' && (field === 'accountId' || field === 'name')
    ? '"outlay accounts list" shows the accounts that have something unsettled.'
    : undefined

/** Codes of the engine for values that can never be right. */
const misuses: ReadonlySet<string> = new Set([
  'invalid_id',
  'invalid_request',
  'missing_field',
  'idempotency_key_invalid',
])

/** Members of a stored request, which nobody has typed here. */
const storedField = /^(amount|source|destination|note)\b/

/** True for what a person has typed wrong. */
export const isMisuse = (error: unknown): boolean =>
  error instanceof Misuse || (OutlayError.is(error) && misuses.has(error.code) && !storedField.test(error.field ?? ''))

/** Says what a failure is and what to do next, with nothing in it that is secret. */
export function explain(error: unknown): Problem {
  if (error instanceof Unfinished) {
    const cause = explain(error.cause)
    return { ...cause, message: `${cause.message.replace(` ${nothing}`, '')} ${printable(error.message)}` }
  }
  if (error instanceof Refusal) return { code: error.code, message: error.message, next: error.next }
  if (OutlayError.is(error)) {
    const next =
      accountNext(error) ??
      refusalNext[error.code] ??
      'Fix what the message names; the reference of errors explains the code.'
    return { code: error.code, message: printable(error.message), next }
  }
  const code = codeOf(error)
  const message = error instanceof Error ? printable(firstMessage(error)) : 'Something failed without a message.'
  const known = code === undefined ? undefined : serverProblems[code]
  if (known !== undefined) {
    const rolledBack = isLockTimeout(error) ? ` ${nothing}` : ''
    return { code: code ?? 'failed', message: `${known[0]} (${message})${rolledBack}`, next: known[1] }
  }
  return { code: code ?? 'failed', message, next: 'Run "outlay doctor" to check the database and the engine.' }
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (typeof code === 'string') return code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}

/** A connection that is tried at several addresses fails with an error of errors that has no message itself. */
function firstMessage(error: Error): string {
  if (error.message !== '') return error.message
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first.message : error.name
}

/** True for the error of a statement that did not get a lock in time. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

/** True for the error of a statement that the role may not run. */
export const isForbidden = (error: unknown): boolean => codeOf(error) === '42501'

/** True for the error of a statement that names a schema, a table, a column or a function which does not exist. */
export const isLacking = (error: unknown): boolean => /^(3F000|42P01|42703|42883)$/.test(codeOf(error) ?? '')
