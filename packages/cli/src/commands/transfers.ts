import type { TransferSummary } from '@outlay/adapters-pg'
import {
  Id,
  type OperatorNote,
  OutlayError,
  type ReleaseNote,
  type Resolution,
  type ReturnResolution,
  type StoredTransfer,
} from '@outlay/core'
import { formatDuration } from '../output/duration.ts'
import { showGateway } from '../output/gateway-column.ts'
import { type Column, formatFields, formatTable, plural } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import type { Session } from '../session/session.ts'
import { unlessUnreadable } from './circumstances.ts'
import { formatHeld } from './held.ts'
import { formatHolds, type Hold, mergeHolds, readHolds } from './holds.ts'
import { requireAccount } from './known-account.ts'

/** Shows one transfer: its state, what it waits for, and its history. */
export async function showTransfer(session: Session, reference: TransferReference): Promise<void> {
  const evidence = await findEvidence(session, reference)
  const [stuck] = await session.inspection.stuck({ id: evidence.transfer.id })
  const held = await session.engine.transfers.holds(evidence.transfer.id)
  session.write({ ...evidence, waitsFor: stuck?.waitsFor ?? null, remedy: stuck?.remedy ?? null, held }, () => {
    const { summary, attempts, events, returns, deliveries } = evidence
    return [
      describe(summary, stuck, evidence.archivedAt),
      ...formatHeld(held),
      attempts.length === 0 ? 'It was never sent.' : formatAttempts(attempts),
      formatTable(events, [
        ['event', (row) => row.type],
        ['at', (row) => row.occurredAt],
        ['stage', (row) => row.stage],
        ['status', (row) => row.status],
        ['reason', (row) => row.reason],
      ]),
      ...(returns.length === 0 ? [] : [formatReturns(returns)]),
      deliveries.length === 0 ? 'No event of it is undelivered.' : formatDeliveries(deliveries),
    ].join('\n\n')
  })
}

/** Names one transfer. */
export interface TransferReference {
  readonly id?: string | undefined
  readonly accountId?: string | undefined
  readonly key?: string | undefined
}

type Evidence = NonNullable<Awaited<ReturnType<Session['inspection']['evidence']>>>

/** Finds all evidence about a transfer, by its id or by its account and key. */
export async function findEvidence(session: Session, reference: TransferReference): Promise<Evidence> {
  const { id, accountId, key } = reference
  const found = id ?? (await session.engine.transfers.getByKey(accountId ?? '', key ?? ''))?.id
  const evidence = found === undefined ? undefined : await session.inspection.evidence(Id.parse(found))
  if (evidence !== undefined) return evidence
  if (accountId !== undefined) await requireAccount(session, accountId)
  throw new OutlayError('transfer_not_found', `There is no transfer ${id ?? `with the key "${key}" in ${accountId}`}.`)
}

function describe(
  summary: TransferSummary,
  stuck: { readonly waitsFor: string; readonly remedy: string } | undefined,
  archivedAt: string | null,
) {
  return formatFields([
    ['transfer', summary.id],
    ['account', summary.accountId],
    ['gateway', summary.gateway],
    ['key', summary.idempotencyKey],
    ['sent as', summary.submissionKey],
    ['client', summary.client],
    ['amount', `${summary.amount} ${summary.currency}`],
    ['paid', summary.paidAmount === null ? null : `${summary.paidAmount} ${summary.currency}`],
    ['from', summary.source],
    ['to', summary.destination],
    ['stage', summary.reason === null ? summary.stage : `${summary.stage} (${summary.reason})`],
    ['status', summary.status],
    ['failure', summary.failureCode === null ? null : `${summary.failureCode}: ${summary.failureDetail}`],
    ['at the service', summary.remoteId],
    ['enqueued', `${summary.createdAt} (${formatDuration(summary.ageMs)} ago)`],
    ['not before', summary.notBefore],
    ['expires', summary.expiresAt],
    ['unknown since', summary.unknownSince],
    ['next attempt', summary.nextAttemptAt],
    ['next poll', summary.nextPollAt],
    ['job', summary.jobState],
    ['waits for', stuck?.waitsFor ?? null],
    ['what to do', stuck?.remedy ?? null],
    ['archived', archivedAt],
    ['resubmits', summary.resubmissionOf],
    ['resubmitted as', summary.resubmittedAs],
    ['batch', summary.batchId],
    ['metadata', formatMetadata(summary.metadata)],
  ])
}

/** The pairs of one transfer in a line. */
const formatMetadata = (metadata: TransferSummary['metadata']): string | null =>
  metadata === null
    ? null
    : Object.entries(metadata)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ')

/** Formats attempts with their answers. */
export function formatAttempts(attempts: Evidence['attempts']): string {
  const columns: readonly Column<Evidence['attempts'][number]>[] = [
    ['attempt', (row) => row.attempt],
    ['sent', (row) => row.claimedAt],
    ['answered', (row) => row.answeredAt],
    ['outcome', (row) => [row.step, row.outcome ?? 'unanswered'].filter(Boolean).join(' ')],
    ['http', (row) => row.httpStatus],
    ['request id', (row) => row.requestId],
    ['detail', (row) => row.detail],
    ['worker', (row) => row.worker],
  ]
  return formatTable(attempts, showGateway(columns, attempts))
}

/** Formats what came back of a transfer, with what became of each report. */
export function formatReturns(returns: Evidence['returns']): string {
  return formatTable(returns, [
    ['return', (row) => row.identity],
    ['code', (row) => row.code],
    ['amount', (row) => (row.amount === null ? null : `${row.amount} ${row.currency}`)],
    ['reported', (row) => row.seenAt],
    ['state', stateOf],
    ['by', (row) => row.resolvedBy],
    ['why', (row) => row.resolutionNote],
  ])
}

const stateOf = ({ sequence, problem, resolvedAt }: Evidence['returns'][number]): string => {
  if (sequence !== null) return resolvedAt === null ? `event ${sequence}` : `event ${sequence}, corrected`
  if (problem === null) return 'waits for the completion'
  return resolvedAt === null ? `held (${problem})` : `dismissed (${problem})`
}

/** Formats undelivered events by subscription. */
export function formatDeliveries(deliveries: Evidence['deliveries']): string {
  return formatTable(deliveries, [
    ['subscription', (row) => row.subscription],
    ['event', (row) => row.sequence],
    ['due', (row) => (row.dead ? 'dead letter' : row.dueAt)],
    ['failures', (row) => row.failures],
    ['last error', (row) => row.lastError],
  ])
}

/** What a command changed about one transfer. */
interface Change {
  readonly id: string
  readonly from: string
  /** Null when it could not be read. */
  readonly to: string | null
  /** What keeps it from being sent, where it is to be sent; undefined also when that could not be read. */
  readonly holds?: readonly Hold[] | undefined
}

const standing = (transfer: StoredTransfer): string =>
  `${transfer.stage}/${transfer.status}${transfer.reason === null ? '' : ` (${transfer.reason})`}`

/** Cancels transfers, all of them or none. */
export async function cancelTransfers(session: Session, ids: readonly string[], by?: OperatorNote): Promise<void> {
  const cancel = async (tx: Transaction, { id }: StoredTransfer) => session.engine.transfers.cancel(tx, id, by)
  const keys = 'Their keys stay theirs: "outlay transfers resubmit <id>" pays after all, under a new one.'
  await changeAll(session, ids, 'canceled', cancel, { notes: [keys] })
}

/** Returns transfers to the queue with their own keys, all of them or none. */
export async function releaseTransfers(session: Session, ids: readonly string[], by?: ReleaseNote): Promise<void> {
  const release = async (tx: Transaction, transfer: StoredTransfer) => {
    if (await session.engine.transfers.release(tx, transfer.id, by)) return
    const message = `The transfer ${transfer.id} is ${standing(transfer)}; only a held, blocked or waiting one is released.`
    throw new OutlayError('conflict', message)
  }
  await changeAll(session, ids, 'released', release, { isSent: true })
}

/** Resolves a blocked transfer as a person says. With a gateway module, asks the service for the id first. */
export async function resolveTransfer(
  session: Session,
  id: string,
  resolution: Resolution,
  gatewayModule?: string,
): Promise<void> {
  const { remoteId } = resolution
  if (gatewayModule !== undefined && remoteId !== undefined) {
    await withGateway(session, gatewayModule, ({ transfers }) =>
      transfers.compare(id, remoteId, { signal: session.signal }),
    )
  }
  await changeAll(session, [id], 'resolved', (tx, transfer) =>
    session.engine.transfers.resolve(tx, transfer.id, resolution),
  )
}

/** Decides about a return that is held, as a person says. */
export async function resolveHeldReturn(session: Session, id: string, resolution: ReturnResolution): Promise<void> {
  await session.transaction((tx) => session.engine.transfers.resolveReturn(tx, Id.parse(id), resolution))
  const what = resolution.dismissed ? 'dismissed; no handler gets it' : 'resolved; handlers get "transfer.returned"'
  session.begin(`1 return ${what}.`)
  const evidence = await unlessUnreadable(session.inspection.evidence(id))
  session.write({ id, returns: evidence?.returns ?? null }, () =>
    evidence === undefined
      ? 'What it is now could not be read: see "outlay transfers show".'
      : formatReturns(evidence.returns),
  )
}

/** The transaction of a command. */
export type Transaction = Parameters<Parameters<Session['transaction']>[0]>[0]

/** Changes transfers, all of them or none, and prints what became of each: false for one that was so before. With `isSent`, also what keeps them from being sent. */
export async function changeAll(
  session: Session,
  ids: readonly string[],
  verb: string,
  change: (tx: Transaction, transfer: StoredTransfer) => Promise<unknown>,
  { isSent = false, notes = [] }: { readonly isSent?: boolean; readonly notes?: readonly string[] } = {},
): Promise<void> {
  const before = await readAll(
    session,
    [...new Set(ids)].map((id) => Id.parse(id)),
  )
  let changed = 0
  await session.transaction(async (tx) => {
    for (const transfer of before) if ((await change(tx, transfer)) !== false) changed += 1
  })
  session.begin(`${plural(changed, 'transfer')} ${verb}, in one transaction.`)
  const accounts = [...new Set(isSent ? before.map((transfer) => transfer.accountId) : [])]
  const reading = readAll(
    session,
    before.map((transfer) => transfer.id),
  )
  const [after, held] = await Promise.all([unlessUnreadable(reading), readHoldsOf(session, accounts)])
  const changes = before.map((transfer, index): Change => {
    const now = after?.[index]
    const change = { id: transfer.id, from: standing(transfer), to: now === undefined ? null : standing(now) }
    return isSent ? { ...change, holds: held.get(transfer.accountId) } : change
  })
  session.write(changes, () => {
    const unread = 'What they are now could not be read: see "outlay transfers show".'
    const lines = changes.map(({ id, from, to }) => `${id}  ${from} → ${to ?? 'not read'}`)
    const holds = formatHolds(mergeHolds([...held.values()]))
    return [holds, ...lines, ...(after === undefined ? [unread] : []), ...notes].join('\n')
  })
}

/** What keeps each account from sending; stops at the first that cannot be read, since the others would have to be waited for. */
async function readHoldsOf(session: Session, accountIds: readonly string[]) {
  const held = new Map<string, readonly Hold[] | undefined>()
  for (const accountId of accountIds) {
    const holds = await readHolds(session, accountId)
    held.set(accountId, holds)
    if (holds === undefined) break
  }
  return held
}

/** Reads transfers; throws `transfer_not_found` for an id that there is none of. */
export async function readAll(session: Session, ids: readonly string[]): Promise<readonly StoredTransfer[]> {
  const transfers: StoredTransfer[] = []
  for (const id of ids) {
    const transfer = await session.engine.transfers.get(id)
    if (transfer === undefined) throw new OutlayError('transfer_not_found', `There is no transfer ${id}.`)
    transfers.push(transfer)
  }
  return transfers
}
