import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { EnqueuedTransfer, StoredTransfer } from '../ports/stored-transfer.ts'
import { refuseAddresses } from './address-ids.ts'
import { checkText } from './checked-text.ts'
import { checkEffect, elsewhereKey, findEnded, findOrder, resubmitKey, timesAgain } from './commands.ts'
import type { EnqueueRequest } from './engine.ts'
import type { Gateways } from './gateways.ts'
import type { ResubmitOptions } from './resubmit-options.ts'

/** What a resubmission needs of the engine. */
export interface Resubmitting<Tx> {
  readonly backend: Pick<
    Backend<Tx>,
    | 'get'
    | 'effectOf'
    | 'counterparty'
    | 'recordResubmission'
    | 'forgetResubmission'
    | 'holdBatch'
    | 'recordAudit'
    | 'wasHeldByPeople'
  >
  readonly gateways: Pick<Gateways, 'choose'>
  readonly now: Date
  /** True where no person asks for it, so that the audit names nobody. */
  readonly isFailover?: boolean | undefined
  /** Prepares the request for a gateway, and the environment of the ended transfer. */
  prepare(request: EnqueueRequest, ended: StoredTransfer, gateway: string): NewTransfer
  write(tx: Tx, transfers: readonly NewTransfer[]): Promise<readonly EnqueuedTransfer[]>
}

const optionNames = [
  ...['idempotencyKey', 'notBefore', 'expiresAt', 'amount', 'destination', 'createdBy', 'reason', 'gateway'],
]

/** Enqueues a failed or canceled transfer again, as it was or corrected: one transfer in its place, however many ask at once. */
export async function resubmit<Tx>(
  { backend, gateways, now, isFailover, prepare, write }: Resubmitting<Tx>,
  tx: Tx,
  transferId: string,
  options: ResubmitOptions = {},
): Promise<EnqueuedTransfer> {
  checkNames(options, optionNames)
  const { idempotencyKey, amount, destination, createdBy, reason, gateway: named, ...times } = options
  if (reason !== undefined) checkText(reason, 'reason')
  if (named !== undefined) gateways.choose(named)
  const ended = await findEnded(backend, tx, transferId)
  const gateway = named ?? ended.gateway
  const isElsewhere = gateway !== ended.gateway
  if (isElsewhere && ended.remoteId !== null) throw wasAccepted(ended)
  if (isElsewhere && ended.request.quoteId !== undefined) {
    const message = `The quote of the transfer ${ended.id} is of the gateway ${ended.gateway}; enqueue a new transfer at ${gateway}.`
    throw new OutlayError('conflict', message, { field: 'gateway' })
  }
  if (createdBy === undefined) await refuseUnnamed(backend, tx, ended)
  if (amount !== undefined && ended.request.quoteId !== undefined) {
    const message = `The transfer ${ended.id} has the amount of its quote; enqueue a new transfer with a new quote for another amount.`
    throw new OutlayError('conflict', message, { field: 'amount' })
  }
  const order: EnqueueRequest = {
    ...(await findOrder(backend, tx, ended, { destination, gateway })),
    ...(amount === undefined ? {} : { amount }),
    // Whoever resubmits it asks for it: the creator of the ended one has not.
    ...(createdBy === undefined ? {} : { createdBy }),
    ...timesAgain(ended, times, now),
    idempotencyKey: idempotencyKey ?? (isElsewhere ? elsewhereKey(ended, gateway) : resubmitKey(ended)),
  }
  if (destination !== undefined) refuseAddresses(order, '')
  const transfer = prepare(order, ended, gateway)
  const writeInPlace = async (on: Tx, successor: NewTransfer) => {
    try {
      return await write(on, [successor])
    } catch (error) {
      // Refused, by a policy for example: the host may go on, and the ended transfer has no successor.
      if (OutlayError.is(error)) await backend.forgetResubmission(on, ended.id, successor.id)
      throw error
    }
  }
  // A batch is locked before its transfers, as by its cancel.
  const entered = await enterBatch(backend, tx, ended)
  const successorId = await findPlace(backend, tx, ended, transfer)
  if (successorId !== transfer.id) return findSuccessor(backend, tx, ended, transfer, successorId)
  const [enqueued] = await writeInPlace(tx, { ...transfer, ...entered })
  if (enqueued === undefined) throw new Error('The backend answered without the transfer that it was given.')
  if (enqueued.id === transfer.id) {
    await auditResubmission(backend, tx, ended, enqueued, { actor: isFailover ? null : createdBy, reason })
    return { ...enqueued, resubmissionOf: ended.id }
  }
  // Another transaction has enqueued under the key since, so there is no new transfer: its place is given back.
  const otherId = await findPlace(backend, tx, ended, transfer)
  return findSuccessor(backend, tx, ended, transfer, otherId === transfer.id ? undefined : otherId)
}

/** Throws for a transfer that people held to its end: whoever sends it all the same does so by name. */
async function refuseUnnamed<Tx>(backend: Resubmitting<Tx>['backend'], tx: Tx, { id }: StoredTransfer): Promise<void> {
  if (!(await backend.wasHeldByPeople(tx, id))) return
  const message = `is required: people held the transfer ${id} when it ended, so say who resubmits it`
  throw OutlayError.fromIssues([{ field: 'createdBy', code: 'missing_field', message }])
}

/** Writes down who resubmits what, and what is other than it was. */
async function auditResubmission<Tx>(
  backend: Resubmitting<Tx>['backend'],
  tx: Tx,
  ended: StoredTransfer,
  { id, stage, request, gateway }: EnqueuedTransfer,
  { actor, reason }: { readonly actor: string | null | undefined; readonly reason: string | undefined },
): Promise<void> {
  // No more of the payee than who reads the audit may see.
  const describe = ({ amount, destination: { addressId, valueType, transferType } }: StoredTransfer['request']) => ({
    amount,
    destination: { addressId, valueType, transferType },
  })
  const at = (name: string) => (gateway === ended.gateway ? {} : { gateway: name })
  await backend.recordAudit(tx, {
    ...{ command: 'transfers.resubmit', actor: actor ?? null, reason: reason ?? null, transferId: ended.id },
    before: {
      status: ended.status,
      createdBy: ended.createdBy ?? null,
      ...describe(ended.request),
      ...at(ended.gateway),
    },
    after: { resubmittedAs: id, stage, ...describe(request), ...at(gateway) },
  })
}

/** The id of the transfer in the place of the ended one; throws `conflict` when money of that one may have moved meanwhile. */
async function findPlace<Tx>(
  backend: Resubmitting<Tx>['backend'],
  tx: Tx,
  ended: StoredTransfer,
  transfer: NewTransfer,
): Promise<string | undefined> {
  const { successorId, effect } = await backend.recordResubmission(tx, ended.id, transfer)
  checkEffect(ended, effect)
  if (effect === 'none' || transfer.gateway === ended.gateway) return successorId
  await backend.forgetResubmission(tx, ended.id, transfer.id)
  throw wasAccepted(ended)
}

/** Another gateway takes over only what its own has never had. */
function wasAccepted({ id, gateway }: StoredTransfer): OutlayError {
  const message = `The gateway ${gateway} had accepted the transfer ${id} before it failed, so no other gateway takes it over; leave out gateway, or enqueue a new transfer once you know that nothing moved.`
  return new OutlayError('conflict', message, { field: 'gateway' })
}

/** The batch of the ended transfer, while that can take the new one in its place. */
async function enterBatch<Tx>(
  backend: Resubmitting<Tx>['backend'],
  tx: Tx,
  { id, accountId, batchId }: StoredTransfer,
): Promise<Pick<NewTransfer, 'batchId' | 'replaces'>> {
  return batchId !== undefined && (await backend.holdBatch(tx, batchId, accountId)) ? { batchId, replaces: id } : {}
}

/** The transfer in the place of the ended one, when it is the same as this one; throws `conflict` otherwise. */
async function findSuccessor<Tx>(
  backend: Resubmitting<Tx>['backend'],
  tx: Tx,
  { id }: StoredTransfer,
  { idempotencyKey, fingerprint }: NewTransfer,
  successorId: string | undefined,
): Promise<EnqueuedTransfer> {
  const stored = successorId === undefined ? undefined : await backend.get(successorId, tx)
  if (stored === undefined) {
    const message = `The key ${idempotencyKey} stands for another transfer of the account, which cannot be the one that ${id} is resubmitted as; give a key that is new.`
    throw new OutlayError('idempotency_key_mismatch', message, { field: 'idempotencyKey' })
  }
  if (stored.idempotencyKey === idempotencyKey && stored.fingerprint === fingerprint) return { ...stored, reused: true }
  const what = stored.fingerprint === fingerprint ? 'under another key' : 'with another request'
  const message = `The transfer ${id} was resubmitted as ${stored.id} ${what}, which is ${stored.status}; a transfer has one successor. Resubmit ${stored.id} if it has ended without a payment.`
  throw new OutlayError('conflict', message)
}
