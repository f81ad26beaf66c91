import { OutlayError } from '../error.ts'
import { atGateway, readGatewayAccount } from '../gateway-account.ts'
import { defaultKeyLifetimeMs, type Gateway, type Observation } from '../ports/gateway.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { AccountReconciliation, Operations } from '../ports/operations.ts'
import type { Fence } from '../ports/safety.ts'
import type { Gateways } from './gateways.ts'
import type { Difference, ReconcileOptions, Reconciliation } from './reconciliation.ts'
import { compareElsewhere } from './reconciliation-elsewhere.ts'
import { describeChanges, describeDifferences, type Found, unreadable } from './reconciliation-evidence.ts'
import { readReconcileOptions } from './reconciliation-input.ts'
import {
  clockMarginMs,
  findUnclaimed,
  type MatchRules,
  matchTransfers,
  type UnmatchedTransfer,
  withClaimed,
  withEnded,
} from './reconciliation-matching.ts'

interface Context {
  readonly operations: Operations<never>
  readonly gateways: Gateways
  readonly rules: ObserveRules
  readonly since: string
  readonly options: ReconcileOptions
  readonly matching: Omit<MatchRules, 'keyLifetimeMs'>
  /** Accounts at their gateways that have transfers; the others need not exist. */
  readonly certain: ReadonlySet<string>
  /** All gateways that may have something: of this engine, of workers, and of what waits. */
  readonly names: ReadonlySet<string>
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
  gateways: Gateways,
  rules: ObserveRules,
  now: Date,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  const { since: asked, given, dryRun, acknowledge, uniqueNotes, ...input } = readReconcileOptions(options, now)
  const fence = await checkReady(operations, gateways, dryRun)
  const fencedAtMs = fence === null ? Number.POSITIVE_INFINITY : Date.parse(fence.since)
  // Nothing is known here from the fence on: a later time, mistyped or of another zone, would find no difference and lift it.
  const since = fencedAtMs < Date.parse(asked) ? new Date(fencedAtMs).toISOString() : asked
  const matching = { given, uniqueNotes, fencedAtMs, nowMs: now.getTime() }
  // A gateway that this engine lacks may have transfers all the same.
  const names = new Set([...gateways.names, ...(await operations.gateways())])
  const atEach = (accountId: string) => [...names].map((gateway) => atGateway({ gateway, accountId }))
  const certain = new Set(await operations.accounts())
  // A restore may have forgotten that the account was used at another gateway.
  const accounts = new Set([
    ...certain,
    ...[...certain].flatMap((one) => atEach(readGatewayAccount(one).accountId)),
    ...input.accounts.flatMap(atEach),
  ])
  const fenceId = fence?.id ?? null
  const context = { operations, gateways, rules, since, options, matching, certain, names, fenceId }
  const differences: Difference[] = []
  let read = 0
  const nobody = new Set<string>()
  for (const account of accounts) {
    options.signal?.throwIfAborted()
    const found = await reconcileAccount(context, account, dryRun)
    const place = readGatewayAccount(account)
    differences.push(...found.differences.map((one) => ({ ...one, ...place })), ...(found.elsewhere ?? []))
    read += found.read
    if (found.isNobody === true) nobody.add(account)
  }
  // One that a person named is somewhere, or the name is wrong.
  for (const accountId of input.accounts) {
    const [first] = atEach(accountId)
    if (first === undefined || !atEach(accountId).every((one) => nobody.has(one))) continue
    const evidence = 'The list of the account could not be read: no gateway knows it.'
    differences.push({ ...unreadable(accountId, null, evidence), ...readGatewayAccount(first) })
  }
  const isOpen = differences.some(({ open }) => open)
  const lift = !isOpen || (acknowledge && (dryRun || (await doubtUnread(context, differences))))
  const ended = { since: context.since, note: noteOf(options), lift, differences, fenceId: context.fenceId }
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
    differences.flatMap(({ kind, transferId, ...place }) =>
      kind === 'unreadable' && transferId === null ? [atGateway(place)] : [],
    ),
  )
  const evidence = 'What the service has of the account could not be read, so a person has to decide.'
  for (const accountId of unread) {
    const ended = (await operations.unconfirmed(accountId)).map(({ id }) => ({ id, remoteId: null, evidence }))
    const change = { accountId, ended, transfers: [], again: [], lost: [], undecided: [], observations: [] }
    if ((await operations.reconcile(context.fenceId, change, rules, noteOf(options))) === undefined) return false
  }
  return true
}

const noteOf = ({ actor, reason }: ReconcileOptions) => ({ actor, reason })

/** What one account at one gateway has. */
interface Compared {
  readonly differences: readonly Found[]
  /** Transfers of its list. */
  readonly read: number
  /** Differences of rows at other gateways. */
  readonly elsewhere?: readonly Difference[]
  /** True when the gateway does not know the account, which has no transfers there either. */
  readonly isNobody?: boolean
}

/** Returns the fence of the database; null for a plan without one. */
async function checkReady(operations: Operations<never>, gateways: Gateways, dryRun: boolean): Promise<Fence | null> {
  if (gateways.all.every(({ list }) => list === undefined)) {
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

async function reconcileAccount(context: Context, accountId: string, dryRun: boolean): Promise<Compared> {
  const { operations, rules, options } = context
  const gateway = context.gateways.find(readGatewayAccount(accountId).gateway)
  const matchRules = { ...context.matching, keyLifetimeMs: gateway?.keyLifetimeMs ?? defaultKeyLifetimeMs }
  let listed: Listed
  try {
    listed = await readList(context, gateway, accountId)
  } catch (error) {
    if (options.signal?.aborted) throw error
    // Nobody is there. Any other answer leaves open what the gateway has.
    if (!context.certain.has(accountId) && OutlayError.is(error, 'not_found'))
      return { differences: [], read: 0, isNobody: true }
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
  const matched = matchTransfers(rows, remotes, matchRules)
  const { names, fenceId } = context
  const elsewhere = await compareElsewhere(
    { operations, rules, matchRules, names, fenceId, note: noteOf(options), dryRun },
    accountId,
    findUnclaimed(remotes, matched),
  )
  const matching = withClaimed(matched, elsewhere.claimed)
  const watched = await operations.isWatched(accountId)
  const isWanted = ({ transfer }: UnmatchedTransfer) => watched || transfer.automationId === undefined
  const byId = new Map(observations.map((seen) => [seen.remoteId, seen]))
  const describe = (found: readonly UnmatchedTransfer[]) =>
    found.filter(isWanted).flatMap(({ remoteId }) => {
      const seen = byId.get(remoteId)
      return (seen === undefined ? undefined : rules.describe(seen, accountId)) ?? []
    })
  const change: AccountReconciliation = {
    accountId,
    ...describeChanges(matching, matchRules),
    lost: describe(matching.lost),
    undecided: describe(matching.undecided),
    observations: observations.filter(({ remoteId }) => known.has(remoteId) && known.get(remoteId) !== 'logged'),
  }
  const ended = dryRun ? [] : await operations.reconcile(context.fenceId, change, rules, noteOf(options))
  if (ended === undefined) {
    const { differences } = elsewhere
    return { differences: [unreadable(accountId, null, locked)], read: observations.length, elsewhere: differences }
  }
  const bare = fresh.filter(({ transfer }) => transfer === undefined)
  return {
    read: observations.length,
    elsewhere: elsewhere.differences,
    differences: [
      ...describeDifferences(accountId, withEnded(matching, new Set(ended)), isWanted).map(addProblem(change.lost)),
      ...(unread === 0 ? [] : [unreadable(accountId, null, `${unread} ${unreadRows}`)]),
      ...bare.map(({ remoteId }) => unreadable(accountId, remoteId, 'The list shows too little of it to compare.')),
      ...(await findUnknown(context, gateway, accountId, new Set(byId.keys()))),
    ],
  }
}

const unreadRows = 'transfers of the list could not be read; each may be any of these rows.'

/** Says of what is lost here why it cannot be adopted as it is: it stays found. */
const addProblem =
  (lost: AccountReconciliation['lost']) =>
  (difference: Found): Found => {
    const problem = lost.find(({ remoteId }) => remoteId === difference.remoteId)?.problem
    return problem === undefined
      ? difference
      : { ...difference, evidence: `${difference.evidence} ${problem} So it is kept as found, and not adopted.` }
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
async function readList({ since, options }: Context, gateway: Gateway | undefined, account: string): Promise<Listed> {
  const { gateway: name, accountId } = readGatewayAccount(account)
  if (gateway === undefined) throw new Error(`this engine has no gateway ${name}`)
  if (gateway.list === undefined) throw new Error(`the gateway ${name} has no lists`)
  const signal = options.signal ?? new AbortController().signal
  const earliest = Date.parse(since) - clockMarginMs
  const seen = new Map<string, Observation>()
  let unreadable = 0
  const cursors = new Set<string>()
  let idlePages = 0
  let cursor: string | undefined
  do {
    const before = seen.size
    const page = await gateway.list(accountId, { cursor, limit: pageSize, signal })
    const isOld = ({ transfer }: Observation) => transfer !== undefined && Date.parse(transfer.createdAt) < earliest
    for (const one of page.observations) if (!isOld(one)) seen.set(one.remoteId, one)
    // Pages are in the order of creation, and late adopted transfers may stand between older ones: only a page of old ones ends
    // it.
    const ended = page.next === cursor || (page.observations.length > 0 && page.observations.every(isOld))
    // Also beside old ones, and alone: any of them may be the newest.
    unreadable += page.unreadable ?? 0
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
  { operations, since, options }: Context,
  gateway: Gateway | undefined,
  account: string,
  listed: ReadonlySet<string>,
): Promise<readonly Found[]> {
  const signal = options.signal ?? new AbortController().signal
  const differences: Found[] = []
  const { accountId } = readGatewayAccount(account)
  for (const { id, remoteId } of await operations.confirmedSince(account, since)) {
    if (listed.has(remoteId) || gateway === undefined) continue
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
