import { OutlayError } from '../error.ts'
import { defaultKeyLifetimeMs, type Gateway, type Observation } from '../ports/gateway.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { AccountReconciliation, Operations } from '../ports/operations.ts'
import type { Fence } from '../ports/safety.ts'
import type { Difference, ReconcileOptions, Reconciliation } from './reconciliation.ts'
import { describeChanges, describeDifferences, unreadable } from './reconciliation-evidence.ts'
import { readReconcileOptions } from './reconciliation-input.ts'
import {
  clockMarginMs,
  type MatchRules,
  matchTransfers,
  type UnmatchedTransfer,
  withEnded,
} from './reconciliation-matching.ts'

interface Context {
  readonly operations: Operations<never>
  readonly gateway: Gateway
  readonly rules: ObserveRules
  readonly since: string
  readonly options: ReconcileOptions
  readonly matching: MatchRules
  /** Null for a plan without a fence, which writes nothing. */
  readonly fenceId: string | null
}

/**
 * Compares the database with the service, account by account, and writes the result. Safe to run again.
 * @throws OutlayError `invalid_request` with the field; `conflict` when nothing is fenced, when the fence was lifted or
 * put up again meanwhile, or when the gateway has no lists.
 */
export async function reconcile(
  operations: Operations<never>,
  gateway: Gateway,
  rules: ObserveRules,
  now: Date,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const { since: asked, given, dryRun, acknowledge, uniqueNotes, ...input } = readReconcileOptions(options, now)
  const { actor } = options
  const { keyLifetimeMs = defaultKeyLifetimeMs } = gateway
  const fence = await checkReady(operations, gateway, dryRun)
  const fencedAtMs = fence === null ? Number.POSITIVE_INFINITY : Date.parse(fence.since)
  // Nothing is known here from the fence on: a later time, mistyped or of another zone, would find no difference and lift it.
  const since = fencedAtMs < Date.parse(asked) ? new Date(fencedAtMs).toISOString() : asked
  const matching = { given, keyLifetimeMs, uniqueNotes, fencedAtMs, nowMs: now.getTime() }
  const context = { operations, gateway, rules, since, options, matching, fenceId: fence?.id ?? null }
  const accounts = new Set([...(await operations.accounts()), ...input.accounts])
  const differences: Difference[] = []
  let read = 0
  for (const accountId of accounts) {
    options.signal?.throwIfAborted()
    const found = await reconcileAccount(context, accountId, dryRun)
    differences.push(...found.differences)
    read += found.read
  }
  const isOpen = differences.some(({ open }) => open)
  const lift = !isOpen || (acknowledge && (dryRun || (await doubtUnread(context, differences))))
  const ended = { since: context.since, actor, lift, differences, fenceId: context.fenceId }
  if (!dryRun) await operations.endReconciliation(ended)
  return { differences, accounts: accounts.size, read, lifted: lift && !dryRun, dryRun }
}

/**
 * Puts what has ended here into doubt in the accounts that could not be read whole: once the fence is lifted, nothing compares it.
 * False when a host has transfers of such an account locked, and may be about to end one.
 */
async function doubtUnread(context: Context, differences: readonly Difference[]): Promise<boolean> {
  const { operations, rules, options } = context
  const unread = new Set(
    differences.flatMap(({ kind, transferId, accountId }) =>
      kind === 'unreadable' && transferId === null ? [accountId] : [],
    ),
  )
  const evidence = 'What the service has of the account could not be read, so a person has to decide.'
  for (const accountId of unread) {
    const ended = (await operations.unconfirmed(accountId)).map(({ id }) => ({ id, remoteId: null, evidence }))
    const change = { accountId, ended, transfers: [], again: [], lost: [], undecided: [], observations: [] }
    if ((await operations.reconcile(context.fenceId, change, rules, options.actor)) === undefined) return false
  }
  return true
}

/** Returns the fence of the database; null for a plan without one. */
async function checkReady(operations: Operations<never>, gateway: Gateway, dryRun: boolean): Promise<Fence | null> {
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
  if (fence === null || fence.id !== null || dryRun) return fence
  await operations.recordRestore()
  return (await operations.state()).fence
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
  const { observations, unreadable: unread } = listed
  const known = await operations.known(
    accountId,
    observations.map(({ remoteId }) => remoteId),
  )
  const fresh = observations.filter(({ remoteId }) => !known.has(remoteId))
  const remotes = observations.flatMap(({ remoteId, transfer }): UnmatchedTransfer[] => {
    const standing = known.get(remoteId)
    const isAdopted = standing === 'adopted'
    return transfer === undefined || (standing !== undefined && !isAdopted) ? [] : [{ remoteId, transfer, isAdopted }]
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
    observations: observations.filter(({ remoteId }) => known.has(remoteId) && known.get(remoteId) !== 'logged'),
  }
  const ended = dryRun ? [] : await operations.reconcile(context.fenceId, change, rules, options.actor)
  if (ended === undefined) {
    return { differences: [unreadable(accountId, null, locked)], read: observations.length }
  }
  const bare = fresh.filter(({ transfer }) => transfer === undefined)
  return {
    read: observations.length,
    differences: [
      ...describeDifferences(accountId, withEnded(matching, new Set(ended)), isWanted),
      ...(unread === 0
        ? []
        : [
            unreadable(
              accountId,
              null,
              `${unread} transfers of the list could not be read; each may be any of these rows.`,
            ),
          ]),
      ...bare.map(({ remoteId }) => unreadable(accountId, remoteId, 'The list shows too little of it to compare.')),
      ...(await findUnknown(context, accountId, new Set(byId.keys()))),
    ],
  }
}

const locked =
  'Another transaction has transfers of the account locked, so nothing was written for it; reconcile again when that has ended.'

interface Listed {
  readonly observations: readonly Observation[]
  /** Transfers that could not be read, and may be any. */
  readonly unreadable: number
}

/** Transfers in one page of a list. */
const pageSize = 100

/** Pages in a row that show nothing new, at most: a list that never ends keeps the fence up for every account. */
const maxIdlePages = 100

/**
 * Reads an account's list from its newest transfer to the first that is older than asked for.
 * @throws Error for a list that goes round, or that goes on without anything new
 */
async function readList({ gateway, since, options }: Context, accountId: string): Promise<Listed> {
  const signal = options.signal ?? new AbortController().signal
  const earliest = Date.parse(since) - clockMarginMs
  const seen = new Map<string, Observation>()
  let unreadable = 0
  const cursors = new Set<string>()
  let idlePages = 0
  let cursor: string | undefined
  do {
    const before = seen.size
    const page = await gateway.list?.(accountId, { cursor, limit: pageSize, signal })
    const isOld = ({ transfer }: Observation) => transfer !== undefined && Date.parse(transfer.createdAt) < earliest
    for (const one of page?.observations ?? []) if (!isOld(one)) seen.set(one.remoteId, one)
    // Pages are in the order of creation, and late adopted transfers may stand between older ones: only a page of old ones ends
    // it.
    const ended =
      page === undefined || page.next === cursor || (page.observations.length > 0 && page.observations.every(isOld))
    if (!ended || page?.observations.every(isOld) !== true) unreadable += page?.unreadable ?? 0
    cursor = ended ? undefined : page.next
    if (cursor === undefined) continue
    idlePages = seen.size === before ? idlePages + 1 : 0
    if (cursors.has(cursor)) throw new Error('its pages lead back to one that was read')
    if (idlePages >= maxIdlePages) throw new Error(`${maxIdlePages} pages in a row show nothing new`)
    cursors.add(cursor)
  } while (cursor !== undefined)
  return { observations: [...seen.values()], unreadable }
}

/** Transfers here whose ids are not in the list. Each is read singly, since a list may be late. */
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
      if ((await gateway.get(accountId, remoteId, { signal, transferId: id })) !== undefined) continue
      differences.push({ ...about, kind: 'unknown_at_service', evidence: 'The service does not know its id.' })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      differences.push({ ...about, kind: 'unreadable', evidence: `It could not be read: ${why}` })
    }
  }
  return differences
}
