import { OutlayError } from '@outlay/core'
import { printable } from './table.ts'

/** A refusal of the command line itself: what is wrong, and what to do next. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** What to do next; one sentence. */
  readonly next: string

  constructor(message: string, next: string) {
    super(message)
    this.next = next
  }
}

/** What is said when a command fails. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly next: string
}

const migrate = 'Run "outlay migrate", or give --schema if the engine is in another one.'

const serverProblems: Readonly<Record<string, readonly [message: string, next: string]>> = {
  ECONNREFUSED: ['No server answers there.', 'Check host and port of --database-url, and that Postgres is running.'],
  ENOTFOUND: ['The host is not known.', 'Check the host of --database-url.'],
  ETIMEDOUT: ['The server did not answer in time.', 'Check the network between here and the database.'],
  ECONNRESET: ['The connection was closed.', 'Check whether the server restarts, or wants TLS: add ?sslmode=require.'],
  '28P01': ['The server refuses the password.', 'Check user and password of --database-url.'],
  '28000': ['The server refuses this user.', 'Check the user of --database-url, and whether the server wants TLS.'],
  '3D000': ['There is no such database.', 'Check the name at the end of --database-url, or create it.'],
  '3F000': ['The engine is not there.', migrate],
  '42P01': ['The engine is not there, or older than this command.', migrate],
  '42883': ['The engine is not there, or older than this command.', migrate],
  '42501': ['The user may not do this.', 'Use the user that owns the schema, or grant what the message names.'],
  '25006': ['The database is read-only.', 'Connect to the primary; a replica is enough for reads only.'],
  '53300': ['The server has no connection left.', 'Wait, or look at who holds them in pg_stat_activity.'],
  '55P03': ['A lock was not to be had in time.', 'Try again; if it stays, "outlay doctor" names long transactions.'],
  '57014': [
    'The statement took too long.',
    'Try again with a narrower filter; "outlay doctor" names what slows reads.',
  ],
}

const refusalNext: Readonly<Record<string, string>> = {
  not_migrated: migrate,
  schema_too_new: 'Use the command line of the release that migrated this database.',
  queue_version_untested: 'Install the release that fits, or run "outlay doctor" for what is there.',
  transfer_not_found: 'Check the id; "outlay transfers list" shows those that there are.',
  transfer_not_cancelable: 'See "outlay prove" for what is known about it.',
  events_undelivered: 'Start a process that handles them, or run it again with --discard to lose them.',
  environment_mismatch: 'Use the gateway of the environment that the database belongs to.',
  database_unfamiliar: 'Run "outlay adopt-database" if this is the database to pay from, then this again.',
  conflict: 'See "outlay transfers show" for how it stands.',
  invalid_id: 'A transfer id is 26 characters; "outlay transfers list" shows them.',
  idempotency_key_invalid: 'Give --key 1 to 255 visible ASCII characters, or leave it out.',
  idempotency_key_mismatch: 'Use another --key.',
}

/** Says what a failure is and what to do next, with nothing in it that is secret. */
export function explain(error: unknown): Problem {
  if (error instanceof Refusal) return { code: 'refused', message: error.message, next: error.next }
  if (OutlayError.is(error)) {
    const next =
      refusalNext[error.code] ?? 'Mend what the message names; the reference of errors says what the code means.'
    return { code: error.code, message: printable(error.message), next }
  }
  const code = codeOf(error)
  const message = error instanceof Error ? printable(firstMessage(error)) : 'Something failed without saying what.'
  const known = code === undefined ? undefined : serverProblems[code]
  if (known !== undefined) return { code: code ?? 'failed', message: `${known[0]} (${message})`, next: known[1] }
  return { code: code ?? 'failed', message, next: 'Run "outlay doctor" to see whether the place is well.' }
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (typeof code === 'string') return code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined
}

/** A connection that is tried at several addresses fails with an error of errors that says nothing itself. */
function firstMessage(error: Error): string {
  if (error.message !== '') return error.message
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined
  return first instanceof Error ? first.message : error.name
}
