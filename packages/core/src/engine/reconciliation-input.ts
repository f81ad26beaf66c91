import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { checkNames } from '../option-names.ts'
import { checkFlag, checkText } from './checked-text.ts'
import { checkAccountId, readSince } from './enqueueing.ts'
import { isForeignId, longestId } from './foreign-value.ts'
import type { ReconcileOptions } from './reconciliation.ts'

/** What a reconciliation is asked for, read before anything is compared or written. */
export interface ReconcileInput {
  readonly since: string
  readonly accounts: readonly string[]
  /** Which transfer of the service a person says that rows are, by the ids of the rows. */
  readonly given: ReadonlyMap<string, string>
  readonly dryRun: boolean
  readonly acknowledge: boolean
  readonly uniqueNotes: boolean
}

const names = ['since', 'accounts', 'dryRun', 'acknowledge', 'matches', 'uniqueNotes', 'actor', 'reason', 'signal']

/** Reads what a reconciliation is asked for. Throws OutlayError `missing_field`, `invalid_id` or `invalid_request` with the field. */
export function readReconcileOptions(options: ReconcileOptions, now: Date): ReconcileInput {
  if (typeof options !== 'object' || options === null || options.since === undefined)
    throw new OutlayError('missing_field', 'since: say from when on.', { field: 'since' })
  // A mistyped "dryRun" would write.
  checkNames(options, names)
  const { accounts = [], dryRun = false, acknowledge = false, uniqueNotes = false, actor, reason } = options
  for (const [field, flag] of Object.entries({ dryRun, acknowledge, uniqueNotes })) checkFlag(flag, field)
  if (actor !== undefined) checkText(actor, 'actor')
  if (reason !== undefined) checkText(reason, 'reason')
  if (!Array.isArray(accounts)) throw refuse('accounts', 'must be a list of ids of accounts')
  for (const [index, accountId] of accounts.entries()) checkAccountId(accountId, `accounts.${index}`)
  const since = readSince(options.since, now)
  return { since, accounts, given: readMatches(options.matches), dryRun, acknowledge, uniqueNotes }
}

function readMatches(matches: ReconcileOptions['matches'] = {}): ReadonlyMap<string, string> {
  if (typeof matches !== 'object' || matches === null || Array.isArray(matches))
    throw refuse('matches', 'must be an object of ids at the service by ids of transfers')
  const given = new Map<string, string>()
  const rows = new Map<string, string>()
  for (const [transferId, remoteId] of Object.entries(matches)) {
    const id = Id.parse(transferId, 'matches')
    if (!isForeignId(remoteId)) {
      const message = `matches: the id at the service of ${id} must be 1 to ${longestId} characters without control characters`
      throw new OutlayError('invalid_id', message, { field: 'matches' })
    }
    const other = rows.get(remoteId)
    if (other !== undefined)
      throw refuse('matches', `both ${other} and ${id} are given the id ${remoteId}; only one of them can have it.`)
    rows.set(remoteId, id)
    given.set(id, remoteId)
  }
  return given
}

const refuse = (field: string, message: string) => new OutlayError('invalid_request', `${field}: ${message}`, { field })
