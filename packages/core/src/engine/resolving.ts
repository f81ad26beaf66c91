import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { closeInput, type Input, member, openInput, read, readText, refuse } from '../input.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { Resolution } from '../ports/safety.ts'
import type { StoredTransfer } from '../ports/stored-transfer.ts'
import type { TransferCommandPort } from '../ports/transfer-commands.ts'
import { recordCommand } from './audited.ts'
import { findTransfer, type TransferReader } from './commands.ts'
import { isForeignId, longestId, longestText } from './foreign-value.ts'
import type { Gateways } from './gateways.ts'
import { isSameMoney } from './reconciliation-matching.ts'

const idRule = `must be 1 to ${longestId} characters without control characters`

const members = {
  remoteId: member('remoteId'),
  notPaid: member('notPaid'),
  insteadOf: member('insteadOf'),
  unchecked: member('unchecked'),
  reason: member('reason'),
  actor: member('actor'),
} as const

/** Throws when the service does not have a transfer under an id, or has another one there. Changes nothing. */
export async function compareTransfer<Tx>(
  { backend, gateways }: { readonly backend: TransferReader<Tx>; readonly gateways: Gateways },
  transferId: string,
  remoteId: string,
  signal: AbortSignal,
): Promise<void> {
  const id = Id.parse(transferId, 'transferId')
  const field = 'remoteId'
  if (!isForeignId(remoteId)) throw new OutlayError('invalid_id', `remoteId: ${idRule}`, { field })
  const { accountId, gateway, request } = await findTransfer(backend, undefined, id)
  const seen = await gateways.demand(gateways.choose(gateway)).get(accountId, remoteId, { signal, transferId: id })
  if (seen === undefined) {
    const message = `The service does not know the id ${remoteId} for the account ${accountId}; check whether it is mistyped.`
    throw new OutlayError('conflict', message, { field })
  }
  const { transfer } = seen
  if (transfer === undefined || isSameMoney(request, transfer)) return
  const { value, currency } = transfer.amount
  const message = `The service has ${value} ${currency} as ${remoteId}, with other legs or another amount than the transfer ${id} of ${request.amount.value} ${request.amount.currency}.`
  throw new OutlayError('conflict', message, { field })
}

/** Resolves a blocked transfer, or one that is held in doubt, or says why it cannot. A refusal of the input happens before any SQL. */
export async function resolveTransfer<Tx>(
  backend: TransferReader<Tx> & TransferCommandPort<Tx> & AuditPort<Tx>,
  tx: Tx,
  transferId: string,
  resolution: Resolution,
): Promise<void> {
  const id = Id.parse(transferId, 'transferId')
  const decided = readResolution(resolution)
  const was = await backend.get(id, tx)
  const { done, isUnderWay, isAccepted, otherId } = await backend.resolve(tx, id, decided)
  if (done) {
    const { remoteId, insteadOf, unchecked } = decided
    const says =
      remoteId === null
        ? { notPaid: true }
        : { remoteId, insteadOf: insteadOf ?? null, ...(unchecked === true ? { unchecked } : {}) }
    const after = { ...stateOf(await findTransfer(backend, tx, id)), ...says }
    await recordCommand(backend, tx, decided, {
      ...{ command: 'transfers.resolve', transferId: id },
      ...{ before: was === undefined ? null : stateOf(was), after },
    })
    return
  }
  if (isUnderWay) {
    const message = `A request of the transfer ${id} left less than ten minutes ago and may still arrive; ask the service again then.`
    throw new OutlayError('conflict', message, { field: 'notPaid' })
  }
  if (isAccepted) {
    const message = `The service accepted a request of the transfer ${id}, under an id that it has not got; "outlay prove" shows it, for remoteId.`
    throw new OutlayError('conflict', message, { field: 'notPaid' })
  }
  if (otherId !== null) {
    const message =
      otherId === decided.insteadOf
        ? `The service itself accepted the transfer ${otherId} as ${decided.remoteId}, so that id is not this one's; "outlay prove" shows the answer.`
        : `The transfer ${otherId} of the account has the id ${decided.remoteId} at the service already; ask the service which one is meant, and give insteadOf if it is this one.`
    throw new OutlayError('conflict', message, { field: 'remoteId' })
  }
  const { stage, status } = await findTransfer(backend, tx, id)
  throw new OutlayError(
    'conflict',
    `The transfer ${id} is ${stage} and ${status}; only a blocked one is resolved, or a held one whose money may have moved.`,
  )
}

const stateOf = ({ stage, status, reason }: StoredTransfer) => ({ stage, status, reason })

function readResolution(resolution: Resolution) {
  const input = openInput(resolution, { spelling: 'camel' })
  const remoteId = readRemoteId(input)
  const reason = readText(input, members.reason, { optional: true, max: longestText })
  const actor = readText(input, members.actor, { optional: true })
  const insteadOf = readText(input, members.insteadOf, { optional: true })
  if (insteadOf !== undefined && remoteId === null) {
    refuse(input, members.insteadOf, 'invalid_request', 'is for a transfer that was paid')
  }
  const unchecked = read(input.record, members.unchecked)
  if (unchecked !== undefined && (unchecked !== true || remoteId === null))
    refuse(input, members.unchecked, 'invalid_request', 'must be true, and is for a transfer that was paid')
  closeInput(input)
  return {
    remoteId,
    unchecked,
    reason,
    actor,
    insteadOf: insteadOf === undefined ? undefined : Id.parse(insteadOf, 'insteadOf'),
  }
}

/** Null for a transfer that was not paid. */
function readRemoteId(input: Input): string | null {
  const remoteId = read(input.record, members.remoteId)
  const notPaid = read(input.record, members.notPaid)
  const both = 'give either remoteId or notPaid: true'
  if (notPaid !== undefined && notPaid !== true) {
    refuse(input, members.notPaid, 'invalid_request', 'must be true; give remoteId when it was paid')
  } else if (remoteId === undefined && notPaid === undefined) {
    refuse(input, members.remoteId, 'missing_field', both)
  } else if (remoteId !== undefined && notPaid === true) {
    refuse(input, members.notPaid, 'invalid_request', `${both}, not both`)
  } else if (remoteId !== undefined && !isForeignId(remoteId)) {
    refuse(input, members.remoteId, 'invalid_id', idRule)
  }
  return typeof remoteId === 'string' ? remoteId : null
}
