import { OutlayError, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { inClientTransaction, inWorkerTransaction, type ServiceContext, type Tx } from '../context.ts'
import { askFor } from '../database/asking-client.ts'
import { afterConflicts } from '../database/conflict.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { askRail, railOf } from '../rails/rail-call.ts'
import { advanceTransfers } from './progress.ts'
import { readTransfer, type TransferRow } from './row.ts'

/** Who cancels: a client, or the service itself. */
export interface Canceler {
  readonly clientId?: string | undefined
}

type Transact = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>

/**
 * Cancels a transfer that is pending, or has failed and may be tried again: its hold is voided, and `transfer.canceled` is recorded. One that is canceled
 * already is returned as it is; `undefined` when the account has no such transfer.
 *
 * Only a transfer that was never sent to its rail is canceled without it. For any other, and for an inbound wire, whose payer may have
 * its instructions, the rail decides, outside any transaction. When the write is lost afterwards, a repeat makes up for it, or the
 * engine's next poll of the rail.
 *
 * @throws OutlayError `transfer_not_cancelable` when it is under way or has ended, its money may have moved, or its rail has reported that it has; `service_unavailable` when the
 *   rail does not answer.
 */
export async function cancelTransfer(
  context: ServiceContext,
  { clientId }: Canceler,
  accountId: string,
  transferId: string,
): Promise<TransferRow | undefined> {
  const transact: Transact = (work) =>
    afterConflicts(() =>
      clientId === undefined ? inWorkerTransaction(context, work) : inClientTransaction(context, clientId, work),
    )
  const found = await transact((tx) => cancelUnsent(tx, context, accountId, transferId))
  if (found === undefined || !isOpen(found)) return found
  const readSent = () => context.engine.transfers.get(transferId)
  if (found.wire_instructions === null && (await readSent())?.stage !== 'submitted') {
    throw notCancelable('its money may have moved')
  }
  const ends = {
    source: { transferType: found.source_transfer_type },
    destination: { transferType: found.destination_transfer_type },
  }
  // Places of its own: creates that hang would keep transfers from being canceled.
  const place = { rail: `cancel ${railOf(found.flow, ends)}`, party: clientId ?? accountId }
  const outcome = await askRail(context, place, async (options) => {
    const answer = await askFor(clientId, () => context.rails.cancel(transferId, options))
    return answer.outcome
  })
  if (outcome !== 'canceled') throw notCancelable('its rail does not cancel it any more')
  const sent = await readSent()
  return await transact((tx) => writeCanceled(tx, context, found, sent?.remoteId ?? undefined))
}

/**
 * Cancels a transfer whose wire a person has given to another one, and that no other wire has come for, in the caller's transaction, one of `inTransaction`.
 * Nobody asks its rail, which may still report the wire as that of this transfer. What arrives for it later is held.
 *
 * @throws OutlayError `not_found` for an unknown id; `transfer_not_cancelable` when it has ended otherwise, or has a wire, or waits for its first one.
 */
export async function cancelTransferWithoutWire(tx: Tx, context: ServiceContext, transferId: string): Promise<void> {
  const [row] = await run(tx, context, lockOfAnyone, [transferId])
  if (row === undefined) throw new OutlayError('not_found', 'There is no such transfer.', { field: 'id' })
  if (row.status === 'canceled') return
  if (TransferStatus.isFinal(row.status, row.failure)) throw notCancelable(`it is ${row.status}`)
  const [said] = await run(tx, context, selectLost, [transferId])
  if (said?.hasLost !== true) throw notCancelable('its wire was not given to another transfer')
  const remoteId = (await context.engine.transfers.get(transferId, tx))?.remoteId ?? undefined
  await endCanceled(tx, context, row, remoteId)
}

/** True while a transfer waits for money or a review, or for its rail to try again what has failed. */
const isOpen = ({ status, failure }: TransferRow): boolean =>
  status === 'pending' || (status === 'failed' && !TransferStatus.isFinal(status, failure))

/** Cancels the transfer if no rail can have it. It stays as it is if its rail has to be asked. */
async function cancelUnsent(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  transferId: string,
): Promise<TransferRow | undefined> {
  const row = await lock(tx, context, accountId, transferId)
  if (row === undefined || row.status === 'canceled') return row
  if (!isOpen(row)) throw notCancelable(`it is ${row.status}`)
  // Of a deposit: only the mint is left, and without it the money would belong to nobody.
  if (row.automation_id !== null) throw notCancelable('its money has arrived')
  await refuseSettled(tx, context, row)
  const isUnsent = row.wire_instructions === null && (await cancelInEngine(tx, context, transferId))
  return isUnsent ? await writeEnd(tx, context, row) : row
}

/** Writes what the rail has decided. The engine gets it too, where it knows the payment. */
async function writeCanceled(
  tx: Tx,
  context: ServiceContext,
  { account_id: accountId, id }: TransferRow,
  remoteId: string | undefined,
): Promise<TransferRow | undefined> {
  const row = await lock(tx, context, accountId, id)
  if (row === undefined || row.status === 'canceled') return row
  if (!isOpen(row)) throw notCancelable(`it is ${row.status}`)
  await refuseSettled(tx, context, row)
  return await endCanceled(tx, context, row, remoteId)
}

async function endCanceled(
  tx: Tx,
  context: ServiceContext,
  row: TransferRow,
  remoteId: string | undefined,
): Promise<TransferRow> {
  if (!(await cancelInEngine(tx, context, row.id)) && remoteId !== undefined) {
    await context.engine.transfers.observe(tx, row.account_id, [{ remoteId, status: 'canceled', failure: null }])
  }
  return await writeEnd(tx, context, row)
}

/** Whatever its rail answers: a person may have to decide about the report, or the engine has yet to deliver it. What arrives for a wire is held. */
async function refuseSettled(
  tx: Tx,
  context: ServiceContext,
  { id, wire_instructions: wire }: TransferRow,
): Promise<void> {
  const [said] = wire === null ? await run(tx, context, selectSettled, [id]) : []
  if (said?.isSettled === true || (await context.engine.transfers.get(id, tx))?.status === 'complete')
    throw notCancelable('its rail has reported that it is settled')
}

/** False when a request for the transfer has left. */
export async function cancelInEngine(tx: Tx, context: ServiceContext, transferId: string): Promise<boolean> {
  try {
    await context.engine.transfers.cancel(tx, transferId)
    return true
  } catch (error) {
    if (OutlayError.is(error, 'transfer_not_cancelable')) return false
    throw error
  }
}

async function writeEnd(tx: Tx, context: ServiceContext, { id }: TransferRow): Promise<TransferRow> {
  const step = { id, type: 'transfer.canceled', failure: null, reference: null } as const
  const [row] = await advanceTransfers(tx, context, [step])
  if (row === undefined) throw new Error('A transfer could not be canceled.')
  return row
}

/** Locked as facts of the rails lock it, before the rows of the engine. */
async function lock(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  transferId: string,
): Promise<TransferRow | undefined> {
  const [row] = await run(tx, context, lockTransfer, [accountId, transferId])
  return row
}

function notCancelable(why: string): OutlayError {
  return new OutlayError('transfer_not_cancelable', `The transfer cannot be canceled: ${why}.`)
}

const selectSettled = statement(
  'transfer_select_settled',
  'select {{schema}}.transfer_is_settled($1) as is_settled',
  rowDecoder('transfer', { isSettled: Column.boolean }),
)

const selectLost = statement(
  'transfer_select_lost',
  'select {{schema}}.transfer_lost_wire($1) as has_lost',
  rowDecoder('transfer', { hasLost: Column.boolean }),
)

const lockOfAnyone = statement(
  'transfer_lock_of_anyone',
  `select ${listOf(readTransfer)} from {{schema}}.transfer where id = $1 for no key update`,
  readTransfer,
)

const lockTransfer = statement(
  'transfer_lock',
  `select ${listOf(readTransfer)} from {{schema}}.transfer where account_id = $1 and id = $2 for no key update`,
  readTransfer,
)
