import { Counterparty } from '../counterparty.ts'
import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { fingerprint, IdempotencyKey } from '../idempotency.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { HeldState, HoldPort } from '../ports/holds.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Effect, TransferCommandPort } from '../ports/transfer-commands.ts'
import type { TransferPort } from '../ports/transfers.ts'
import { readGivenNote } from './actors.ts'
import { isAdopted } from './adoption.ts'
import type { EnqueueRequest } from './engine.ts'
import type { ResubmitOptions } from './resubmit-options.ts'

/** Reads one transfer. */
export type TransferReader<Tx> = Pick<TransferPort<Tx>, 'get'>

/**
 * False for a value that cannot be an id of a transfer here. Such values do not reach Postgres, which would abort the
 * transaction.
 */
export const isKnowable = (transferId: unknown): boolean => Id.is(transferId)

/** Cancels a transfer, or says why it cannot be. */
export async function cancelTransfer<Tx>(
  backend: TransferReader<Tx> & TransferCommandPort<Tx> & AuditPort<Tx> & Pick<HoldPort<Tx>, 'lockHolds'>,
  tx: Tx,
  transferId: string,
  note: unknown,
): Promise<void> {
  const { actor = null, reason: said = null } = readGivenNote(note)
  const was = isKnowable(transferId) ? await backend.get(transferId, tx) : undefined
  // Behind the lock, so that nobody holds it between this and its end.
  if (was !== undefined && actor === null) refuseUnnamed(transferId, await backend.lockHolds(tx, transferId))
  if (was !== undefined && (await backend.cancel(tx, transferId))) {
    const before = { stage: was.stage, status: was.status, reason: was.reason }
    const after = { stage: 'settled', status: 'canceled' }
    await backend.recordAudit(tx, { command: 'transfers.cancel', actor, reason: said, transferId, before, after })
    return
  }
  throw notCancelable(await findTransfer(backend, tx, transferId))
}

/** Throws for a transfer that people hold: with its end their hold ends too, which needs a name as a release does. */
function refuseUnnamed(transferId: string, state: HeldState | undefined): void {
  const hold = state?.holds.find(({ name, policy }) => name === 'operator' && policy === undefined)
  if (hold === undefined) return
  const message = `is required: ${hold.actor ?? 'somebody'} holds the transfer ${transferId} (${hold.why}), and its end ends that hold`
  throw OutlayError.fromIssues([{ field: 'actor', code: 'missing_field', message }])
}

/** Why a transfer cannot be canceled. */
export function notCancelable({ id, stage, status, reason }: StoredTransfer): OutlayError {
  const why =
    stage === 'settled'
      ? `it is ${status}`
      : `its money may have moved (it is ${stage}${reason === null ? '' : `, ${reason}`}); wait until it is final`
  return new OutlayError('transfer_not_cancelable', `The transfer ${id} cannot be canceled: ${why}.`)
}

/** Finds a failed or canceled transfer: only the request of such a transfer may be enqueued again. */
export async function findEnded<Tx>(
  backend: TransferReader<Tx> & Pick<TransferCommandPort<Tx>, 'effectOf'>,
  tx: Tx,
  transferId: string,
): Promise<StoredTransfer> {
  const transfer = await findTransfer(backend, tx, transferId)
  if (isAdopted(transfer)) {
    throw new OutlayError('conflict', `The transfer ${transferId} was adopted; its creator may create it again.`)
  }
  if (transfer.stage !== 'settled' || transfer.status === 'complete') {
    const message = `The transfer ${transferId} is ${transfer.status}; only a failed or canceled one is enqueued again.`
    throw new OutlayError('conflict', message)
  }
  checkEffect(transfer, await backend.effectOf(tx, transferId))
  return transfer
}

/** Throws `conflict` for an ended transfer that may have moved money, or may still. */
export function checkEffect({ id: transferId, reason }: Pick<StoredTransfer, 'id' | 'reason'>, effect: Effect): void {
  switch (effect) {
    case 'none':
    // It failed at the service, which has ended it there.
    case 'known':
      return
    case 'conflicting': {
      const message = `The service accepted the transfer ${transferId} after its end here, so its money may have moved; "outlay prove" shows the id at the service.`
      throw new OutlayError('conflict', message)
    }
    case 'unknown': {
      const message =
        reason === 'remote_id_taken'
          ? `The transfer ${transferId} ended by the id of another one, so what became of it is not known; ask the service, and enqueue a new transfer if it was not paid.`
          : `The transfer ${transferId} may have an effect: a request of it left less than ten minutes ago and may still arrive, or it ended behind a fence, and a reconciliation has not compared it or found one like it. "outlay doctor" and "outlay prove" say which; resubmit it then.`
      throw new OutlayError('conflict', message)
    }
  }
}

/**
 * The key under which a failed transfer is resubmitted, unless the caller gives another. It is derived from the key of the
 * failed transfer: in a restored database that key is the same, and an id is not.
 */
export function resubmitKey({ idempotencyKey }: Pick<StoredTransfer, 'idempotencyKey'>): string {
  return keyWith(idempotencyKey, 'resubmit')
}

/**
 * The key under which a failed transfer goes to another gateway. It is derived from nothing that a restore or a promotion may change, so that
 * the other gateway sees one key, however often that is decided anew.
 */
export function elsewhereKey({ idempotencyKey }: Pick<StoredTransfer, 'idempotencyKey'>, gateway: string): string {
  return keyWith(idempotencyKey, `at:${gateway}`)
}

/** True of a key that {@link elsewhereKey} makes for this gateway. */
export const isElsewhereKey = (idempotencyKey: string, gateway: string): boolean =>
  idempotencyKey.endsWith(`:at:${gateway}`)

function keyWith(idempotencyKey: string, suffix: string): string {
  const key = `${idempotencyKey}:${suffix}`
  return IdempotencyKey.is(key) ? key : `${fingerprint(idempotencyKey)}:${suffix}`
}

/**
 * The request of a transfer, without who asked for it: to another destination, to the address at the service, or with the counterparty in full when it
 * has none yet. An id that its own gateway gave to a counterparty is of no other one.
 */
export async function findOrder<Tx>(
  backend: Pick<TransferPort<Tx>, 'counterparty'>,
  tx: Tx,
  { id, accountId, request, metadata, gateway: own }: StoredTransfer,
  { destination: corrected, gateway = own }: Pick<ResubmitOptions, 'destination' | 'gateway'> = {},
): Promise<EnqueueRequest> {
  if (corrected !== undefined) return { ...request, accountId, metadata, destination: corrected }
  const isOwnId = gateway !== own && request.destination.address !== undefined
  const registered = isOwnId ? undefined : Counterparty.registered(request)
  if (registered !== undefined) return { ...registered, accountId, metadata }
  const details = await backend.counterparty(tx, id)
  if (details === undefined && isOwnId) {
    const message = `Only the gateway ${own} knows the counterparty of ${id}, whose details are wiped; give the destination for the gateway ${gateway}.`
    throw new OutlayError('conflict', message, { field: 'destination' })
  }
  if (details === undefined) {
    const message = `The details of the counterparty of ${id} are wiped; enqueue a new transfer with them.`
    throw new OutlayError('conflict', message)
  }
  const { addressId: _id, address: _summary, ...leg } = request.destination
  return { ...request, accountId, metadata, destination: { ...leg, address: details.address } }
}

/**
 * When a resubmitted transfer may be sent: at the times that are given, and else at those of the ended one. Throws `conflict` for an
 * expiry that has passed and is not given anew: the new transfer would never be sent, and without an end nobody has decided that it
 * may be sent so late.
 */
export function timesAgain(
  ended: Pick<StoredTransfer, 'id' | 'notBefore' | 'expiresAt'>,
  given: Pick<ResubmitOptions, 'notBefore' | 'expiresAt'>,
  now: Date,
): Pick<EnqueueRequest, 'notBefore' | 'expiresAt'> {
  const { notBefore = ended.notBefore, expiresAt = ended.expiresAt } = given
  if (given.expiresAt === undefined && ended.expiresAt !== null && Date.parse(ended.expiresAt) <= now.getTime()) {
    throw new OutlayError(
      'conflict',
      `The transfer ${ended.id} was not to be sent after ${ended.expiresAt}; give another expiresAt, or null for none, to send it again.`,
      { field: 'expiresAt' },
    )
  }
  return { notBefore: notBefore ?? undefined, expiresAt: expiresAt ?? undefined }
}

/** The transfer as the transaction sees it; throws `transfer_not_found`. */
export async function findTransfer<Tx>(
  backend: TransferReader<Tx>,
  tx: Tx | undefined,
  transferId: string,
): Promise<StoredTransfer> {
  const transfer = isKnowable(transferId) ? await backend.get(transferId, tx) : undefined
  if (transfer !== undefined) return transfer
  throw new OutlayError(
    'transfer_not_found',
    `There is no transfer ${transferId} here; give the id that enqueue returned, not that of the service.`,
  )
}
