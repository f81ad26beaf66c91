import { amountProblem } from '../amount.ts'
import { statusEvent } from '../event.ts'
import { defaultGateway } from '../gateway-account.ts'
import { Id } from '../id.ts'
import { fingerprint } from '../idempotency.ts'
import type { Observation } from '../ports/gateway.ts'
import type { FoundTransfer } from '../ports/observations.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { Transfer, TransferRequest } from '../transfer.ts'
import { type StatusState, TransferStatus } from '../transfer-status.ts'
import { momentOf } from './moment.ts'

/** Prefix of the key of an adopted transfer. A host's key has no space, so the two can never be equal. */
const keyPrefix = 'adopted '

/**
 * True for a transfer that the engine adopted from the service instead of sending it. Its idempotency key is `adopted `, with
 * the space, and its id at the service, before which stands the name of its gateway and a space if that is not `default`; it has no attempts, and it can be neither canceled nor enqueued again from here.
 */
export const isAdopted = ({ idempotencyKey }: Pick<StoredTransfer, 'idempotencyKey'>): boolean =>
  idempotencyKey.startsWith(keyPrefix)

/**
 * Builds the row of a transfer observed at the service. The backend writes it when it is certain that no row here stands for
 * the transfer. `undefined` when the observation lacks the whole transfer: a status alone says too little. One with an amount that is none
 * has a problem, and no row is written for it: the database could not count with it.
 */
export function describeFound(
  observation: Observation,
  gateway: string,
  runtime: Pick<Runtime, 'clock' | 'random'>,
  returnWindowMs: (transferTypes: readonly string[]) => number | undefined = () => undefined,
): FoundTransfer | undefined {
  const { transfer, remoteId, returns } = observation
  if (transfer === undefined) return undefined
  const createdAt = momentOf(transfer.createdAt)
  if (createdAt === null) return undefined
  const pending = { status: 'pending', failure: null } as const
  const reached: StatusState = TransferStatus.advance(pending, observation) ?? pending
  const { status, failure, reachedAt } = reached
  const request = requestOf(transfer)
  const { source, destination } = transfer
  const unreadable = amountProblem(transfer.amount.value)
  const windowMs = status === 'complete' ? returnWindowMs([source.transferType, destination.transferType]) : undefined
  return {
    id: Id.generate(runtime.clock, runtime.random),
    remoteId,
    // A key is unique over all gateways, and two of them may have one id.
    idempotencyKey: `${keyPrefix}${gateway === defaultGateway ? '' : `${gateway} `}${remoteId}`,
    fingerprint: fingerprint(request),
    request,
    automated: transfer.automationId !== undefined,
    createdAt,
    stage: TransferStatus.isFinal(status, failure) ? 'settled' : 'submitted',
    status,
    failure,
    reachedAt: momentOf(reachedAt),
    changedAt: momentOf(transfer.updatedAt),
    events: [{ type: 'transfer.adopted' }, ...(status === 'pending' ? [] : [{ type: statusEvent(status) }])],
    ...(returns === undefined ? {} : { returns }),
    ...(windowMs === undefined ? {} : { returnWindowMs: windowMs }),
    ...(unreadable === undefined ? {} : { problem: `Its amount cannot be read: it ${unreadable.message}.` }),
  }
}

/** The request that led to a transfer. A leg of a bank account that the service links is named by that account's id. */
function requestOf({ amount, source, destination, note }: Transfer): TransferRequest {
  return {
    amount: { value: amount.value, currency: amount.currency },
    source: {
      addressId: source.addressId ?? source.financialInstitutionId,
      valueType: source.valueType,
      transferType: source.transferType,
    },
    destination: {
      addressId: destination.addressId ?? destination.financialInstitutionId ?? '',
      valueType: destination.valueType,
      transferType: destination.transferType,
      wireMemo: destination.wireMemo,
    },
    note: note ?? undefined,
  }
}
