import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import type { Backend } from '../ports/backend.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import { defaultKeyLifetimeMs, type SubmitResult } from '../ports/gateway.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Subscription } from '../ports/subscriptions.ts'
import { elsewhereKey, isElsewhereKey } from './commands.ts'
import { askFailover, type Failover, type Gateways } from './gateways.ts'
import { type Resubmitting, resubmit } from './resubmitting.ts'
import { makeSubscription } from './subscribing.ts'

/** The reason of a failed transfer that another gateway takes over. */
const failoverReason = 'failover'

/** Name of the subscription that enqueues what other gateways take over. */
const failoverSubscription = 'outlay.failover'

/** What a fail-over is made with. */
export interface FailoverParts<Tx> {
  readonly backend: Pick<Backend<Tx>, 'get' | 'effectOf' | 'endFailover' | 'isBatchCanceled'>
  readonly gateways: Gateways
  readonly failover: Failover
  readonly runtime: Pick<Runtime, 'clock' | 'logger'>
  /** What a resubmission needs, for now. */
  resubmitting(): Resubmitting<Tx>
}

/** Where a refused transfer goes, and until when it may leave for the first time. */
interface Takeover {
  readonly gateway: string
  readonly expiresAt: string
}

/** Hands refused transfers to other gateways. */
export interface FailingOver<Tx> {
  /** The same settlement, with the reason `failover` where another gateway takes the transfer over. Never rejects. */
  mark(claim: Claim, result: SubmitResult, settlement: Settlement): Promise<Settlement>
  /** Enqueues the successors of transfers that have failed with that reason. */
  readonly subscription: Subscription<Tx>
}

/** Makes what hands refused transfers to other gateways. */
export function createFailingOver<Tx>(parts: FailoverParts<Tx>): FailingOver<Tx> {
  const { backend, runtime } = parts
  return {
    async mark(claim, result, settlement) {
      if (!isRefusedForGood(claim, result, settlement)) return settlement
      const { transferId } = claim
      try {
        const stored = await backend.get(transferId)
        if (stored === undefined) return settlement
        const { stage, status, failure } = settlement
        const takeover = await findTakeover(parts, { ...stored, stage, status, failure, reason: failoverReason })
        const isInTime = takeover !== undefined && runtime.clock.now().getTime() < Date.parse(takeover.expiresAt)
        return isInTime && (await isCanceled(backend, stored)) !== true
          ? { ...settlement, reason: failoverReason }
          : settlement
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        runtime.logger.error({ transferId, error: why }, `No gateway takes a refused transfer over: ${byHand}`)
        return settlement
      }
    },
    subscription: makeSubscription(failoverSubscription, ['transfer.failed'], async ({ transfer }, tx) => {
      if (transfer.reason === failoverReason) await handOver(parts, tx, transfer.id)
    }),
  }
}

const byHand = 'call transfers.resubmit(tx, id, { gateway }) to send it elsewhere.'

/** Refusals of a successor that no later delivery would take back. */
const lasting = ['policy_refused', 'missing_field', 'idempotency_key_mismatch'] as const

/**
 * True where the log proves that nothing moved and nothing will: the gateway had the key when it refused, and keeps the refusal under it. A payee that
 * was given in full is known to that gateway alone, and its details are wiped; a quote is of its gateway.
 */
const isRefusedForGood = ({ request }: Claim, result: SubmitResult, { stage, status }: Settlement): boolean =>
  result.outcome === 'rejected' &&
  result.keyEvaluated === true &&
  result.keyClosed === true &&
  stage === 'settled' &&
  status === 'failed' &&
  request.destination.address === undefined &&
  request.quoteId === undefined

/**
 * Enqueues the successor of a transfer, in the transaction that acknowledges its failure. Does nothing where it has one. Throws where a later delivery
 * may do it: while its account moves, or in a worker of another release. What nobody can enqueue is a dead letter in the end. Where no delivery
 * would do it, the transfer gets another reason and another event: nobody calls whom an error would reach.
 */
async function handOver<Tx>(parts: FailoverParts<Tx>, tx: Tx, transferId: string): Promise<void> {
  const { backend, runtime } = parts
  const failed = Id.is(transferId) ? await backend.get(transferId, tx) : undefined
  if (failed?.status !== 'failed' || failed.reason !== failoverReason || failed.resubmittedAs !== undefined) return
  // Behind its lock: nothing leaves once it was canceled.
  const canceled = await isCanceled(backend, failed, tx)
  if (canceled === undefined) {
    const { batchId } = failed
    const what = `A refused transfer is not enqueued at another gateway: its batch stayed on another node, and whether that was canceled is not known here. See it there, and ${byHand}`
    runtime.logger.warn({ transferId, batchId }, what)
    return backend.endFailover(tx, transferId, 'failover_refused')
  }
  if (canceled) return backend.endFailover(tx, transferId, null)
  // It is delivered again, until ten minutes after the last request without an answer.
  if ((await backend.effectOf(tx, transferId)) === 'unknown')
    throw new Error(`A request of ${transferId} may still arrive; it is handed over once none can.`)
  const takeover = await findTakeover(parts, failed, tx)
  if (takeover === undefined)
    throw new Error(`No gateway takes ${transferId} over here: another worker does, or ${byHand}`)
  const { gateway, expiresAt } = takeover
  if (runtime.clock.now().getTime() >= Date.parse(expiresAt)) {
    const what = `It is too late to hand a refused transfer over. Ask ${gateway} whether it has it: a restore may have lost that. If not, ${byHand}`
    runtime.logger.warn({ transferId, gateway }, what)
    await backend.endFailover(tx, transferId, 'failover_late')
    return
  }
  const reason = `fail-over from ${failed.gateway}, which refused it (${failed.failure?.code ?? 'no code'})`
  // Whoever created it asks for it still, and approves it no more than before.
  const options = { gateway, expiresAt, createdBy: failed.createdBy, reason }
  try {
    await resubmit({ ...parts.resubmitting(), isFailover: true }, tx, transferId, options)
  } catch (error) {
    const isLasting = OutlayError.is(error) && lasting.some((code) => error.code === code)
    if (!isLasting) throw error
    const fields = { transferId, gateway, code: error.code, error: error.message }
    runtime.logger.warn(fields, `A refused transfer is not enqueued at another gateway: ${byHand}`)
    await backend.endFailover(tx, transferId, 'failover_refused')
  }
}

/** True where somebody has canceled the batch that a successor would enter; undefined where that is not known here, and will not be. */
const isCanceled = async <Tx>(
  backend: Pick<Backend<Tx>, 'isBatchCanceled'>,
  { batchId }: StoredTransfer,
  tx?: Tx,
): Promise<boolean | undefined> => batchId !== undefined && (await backend.isBatchCanceled(batchId, tx))

/**
 * The gateway that takes a refused transfer over, until the payment is older than half the time for which that one keeps keys: a restore may have
 * lost that it was asked, and it then sees the same key while it knows it. Undefined where `failover` names none, or one that was asked before.
 */
async function findTakeover<Tx>(
  { backend, gateways, failover }: FailoverParts<Tx>,
  failed: StoredTransfer,
  tx?: Tx,
): Promise<Takeover | undefined> {
  const gateway = askFailover(gateways, failover, failed)
  if (gateway === undefined) return undefined
  const chain = await findChain(backend, failed, tx)
  if (chain.some((one) => one.gateway === gateway)) return undefined
  const since = Math.min(...chain.map(dueSince))
  const keyLifetimeMs = gateways.find(gateway)?.keyLifetimeMs ?? defaultKeyLifetimeMs
  const until = Math.min(since + keyLifetimeMs / 2, Date.parse(failed.expiresAt ?? endless))
  return { gateway, expiresAt: new Date(until).toISOString() }
}

/** Later than any key lives. */
const endless = '9999-01-01T00:00:00Z'

const dueSince = ({ createdAt, notBefore }: StoredTransfer): number =>
  Math.max(Date.parse(createdAt), notBefore === null ? 0 : Date.parse(notBefore))

/** The transfer and those that it was handed over from, the newest first. Throws where one of them is not here: its gateway would be asked again. */
async function findChain<Tx>(
  backend: Pick<Backend<Tx>, 'get'>,
  failed: StoredTransfer,
  tx: Tx | undefined,
): Promise<readonly StoredTransfer[]> {
  const chain = [failed]
  let last = failed
  for (;;) {
    const before = last.resubmissionOf === undefined ? undefined : await backend.get(last.resubmissionOf, tx)
    if (before === undefined && isElsewhereKey(last.idempotencyKey, last.gateway))
      throw new Error(`The transfer that ${last.id} was handed over from is not here, as while its account moves.`)
    const isHandedOver =
      before !== undefined &&
      before.gateway !== last.gateway &&
      last.idempotencyKey === elsewhereKey(before, last.gateway)
    if (!isHandedOver) return chain
    chain.push(before)
    last = before
  }
}
