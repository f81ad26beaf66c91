import { OutlayError } from '../error.ts'
import { defaultKeyLifetimeMs, type Gateway, type Observation } from '../ports/gateway.ts'
import type { AccountReconciliation, Operations } from '../ports/operations.ts'
import type { ObserveRules } from '../ports/work.ts'
import { readSince } from './enqueueing.ts'
import type { Difference, ReconcileOptions, Reconciliation } from './reconciliation.ts'
import { describeChanges, describeDifferences, unreadable } from './reconciliation-evidence.ts'
import { readMatches } from './reconciliation-input.ts'
import { clockMarginMs, type MatchRules, matchTransfers, type UnmatchedTransfer } from './reconciliation-matching.ts'

interface Context {
  readonly operations: Operations<never>
  readonly gateway: Gateway
  readonly rules: ObserveRules
  readonly since: string
  readonly options: ReconcileOptions
  readonly matching: MatchRules
}

/**
 * Compares the database with the service, account by account, and writes what follows. Safe to run again.
 * @throws OutlayError `invalid_request` with the field; `conflict` when nothing is fenced, or the gateway has no lists.
 */
export async function reconcile(
  operations: Operations<never>,
  gateway: Gateway,
  rules: ObserveRules,
  now: Date,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const { dryRun = false, acknowledge = false, actor } = options
  if (options.since === undefined)
    throw new OutlayError('missing_field', 'since: say from when on.', { field: 'since' })
  const { keyLifetimeMs = defaultKeyLifetimeMs } = gateway
  const since = readSince(options.since, now)
  const given = readMatches(options.matches)
  const fencedAtMs = await checkReady(operations, gateway, dryRun)
  const uniqueNotes = options.uniqueNotes === true
  const matching = { given, keyLifetimeMs, uniqueNotes, fencedAtMs, nowMs: now.getTime() }
  const context = { operations, gateway, rules, since, options, matching }
  const accounts = new Set([...(await operations.accounts()), ...(options.accounts ?? [])])
  const differences: Difference[] = []
  let read = 0
  for (const accountId of accounts) {
    options.signal?.throwIfAborted()
    const found = await reconcileAccount(context, accountId, dryRun)
    differences.push(...found.differences)
    read += found.read
  }
  const lift = acknowledge || !differences.some(({ open }) => open)
  if (!dryRun) await operations.endReconciliation({ since: context.since, actor, lift, differences })
  return { differences, accounts: accounts.size, read, lifted: lift && !dryRun, dryRun }
}

/** Answers with when the fence went up, in milliseconds. */
async function checkReady(operations: Operations<never>, gateway: Gateway, dryRun: boolean): Promise<number> {
  if (gateway.list === undefined) {
    throw new OutlayError('conflict', 'The gateway of this engine has no lists; nothing can be compared.')
  }
  const { unfamiliar, fence } = await operations.state()
  if (unfamiliar !== null) {
    throw new OutlayError('database_unfamiliar', 'This database is not known to the engine; adopt it first.')
  }
  if (fence === null && !dryRun) {
    throw new OutlayError('conflict', 'Nothing is fenced: transfers are being sent. Fence first, then reconcile.')
  }
  return fence === null ? Number.POSITIVE_INFINITY : Date.parse(fence.since)
}

async function reconcileAccount(context: Context, accountId: string, dryRun: boolean) {
  const { operations, rules, options } = context
  let listed: Listed
  try {
    listed = await readList(context, accountId)
  } catch (error) {
    if (options.signal?.aborted) throw error
    const why = error instanceof Error ? error.message : String(error)
    return { differences: [unreadable(accountId, null, `The list of the account could not be read: ${why}`)], read: 0 }
  }
  const { observations } = listed
  const known = await operations.known(
    accountId,
    observations.map(({ remoteId }) => remoteId),
  )
  const fresh = observations.filter(({ remoteId }) => !known.has(remoteId))
  const remotes = observations.flatMap(({ remoteId, transfer }): UnmatchedTransfer[] => {
    const isAdopted = known.get(remoteId)?.isAdopted
    return transfer === undefined || isAdopted === false ? [] : [{ remoteId, transfer, isAdopted }]
  })
  const rows = await operations.unconfirmed(accountId)
  const matching = matchTransfers(rows, remotes, context.matching)
  const watched = await operations.isWatched(accountId)
  const isWanted = ({ transfer }: UnmatchedTransfer) => watched || transfer.automationId === undefined
  const byId = new Map(observations.map((seen) => [seen.remoteId, seen]))
  const describe = (found: readonly UnmatchedTransfer[]) =>
    found.filter(isWanted).flatMap(({ remoteId }) => {
      const seen = byId.get(remoteId)
      return (seen === undefined ? undefined : rules.describe(seen)) ?? []
    })
  const change: AccountReconciliation = {
    accountId,
    ...describeChanges(matching, context.matching),
    lost: describe(matching.lost),
    undecided: describe(matching.undecided),
    observations: observations.filter(({ remoteId }) => known.has(remoteId)),
  }
  if (!dryRun) await operations.reconcile(change, rules, options.actor)
  const bare = fresh.filter(({ transfer }) => transfer === undefined)
  return {
    read: observations.length,
    differences: [
      ...describeDifferences(accountId, matching, isWanted),
      ...bare.map(({ remoteId }) => unreadable(accountId, remoteId, 'The list shows too little of it to compare.')),
      ...(await findUnknown(context, accountId, new Set(byId.keys()))),
    ],
  }
}

interface Listed {
  readonly observations: readonly Observation[]
}

/** Transfers in one page of a list. */
const pageSize = 100

/** Reads an account's list from its newest transfer to the first that is older than asked for. */
async function readList({ gateway, since, options }: Context, accountId: string): Promise<Listed> {
  const signal = options.signal ?? new AbortController().signal
  const earliest = Date.parse(since) - clockMarginMs
  const seen = new Map<string, Observation>()
  let cursor: string | undefined
  do {
    const page = await gateway.list?.(accountId, { cursor, limit: pageSize, signal })
    const isOld = ({ transfer }: Observation) => transfer !== undefined && Date.parse(transfer.createdAt) < earliest
    for (const one of page?.observations ?? []) if (!isOld(one)) seen.set(one.remoteId, one)
    // Pages are in the order of creation, and transfers that are adopted late may stand between older ones: a page of old ones ends it.
    const ended =
      page === undefined || page.next === cursor || (page.observations.length > 0 && page.observations.every(isOld))
    cursor = ended ? undefined : page.next
  } while (cursor !== undefined)
  return { observations: [...seen.values()] }
}

/** Transfers here with an id that is not in the list; each is asked for by itself, since a list may be late. */
async function findUnknown(
  { operations, gateway, since, options }: Context,
  accountId: string,
  listed: ReadonlySet<string>,
): Promise<readonly Difference[]> {
  const signal = options.signal ?? new AbortController().signal
  const differences: Difference[] = []
  for (const { id, remoteId } of await operations.confirmedSince(accountId, since)) {
    if (listed.has(remoteId)) continue
    const about = { accountId, transferId: id, remoteId, open: true }
    try {
      if ((await gateway.get(accountId, remoteId, { signal })) !== undefined) continue
      differences.push({ ...about, kind: 'unknown_at_service', evidence: 'The service does not know its id.' })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      differences.push({ ...about, kind: 'unreadable', evidence: `It could not be read: ${why}` })
    }
  }
  return differences
}
