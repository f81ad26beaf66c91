import { OutlayError } from '../error.ts'
import type { Backend, StoredTransfer } from '../ports/backend.ts'

/** Cancels a transfer, or says why it cannot be. */
export async function cancelTransfer<Tx>(backend: Backend<Tx>, tx: Tx, transferId: string): Promise<void> {
  if (await backend.cancel(tx, transferId)) return
  const { stage, status, reason } = await find(backend, tx, transferId)
  const why =
    stage === 'settled'
      ? `it is ${status}`
      : `its money may have moved (it is ${stage}${reason === null ? '' : `, ${reason}`}); wait until it is final`
  throw new OutlayError('transfer_not_cancelable', `The transfer ${transferId} cannot be canceled: ${why}.`)
}

/** A transfer that failed or was canceled: the ones whose request may be enqueued again. */
export async function findEnded<Tx>(backend: Backend<Tx>, tx: Tx, transferId: string): Promise<StoredTransfer> {
  const transfer = await find(backend, tx, transferId)
  if (transfer.stage === 'settled' && transfer.status !== 'complete') return transfer
  const message = `The transfer ${transferId} is ${transfer.status}; only a failed or canceled one is enqueued again.`
  throw new OutlayError('conflict', message)
}

async function find<Tx>(backend: Backend<Tx>, tx: Tx, transferId: string): Promise<StoredTransfer> {
  const transfer = await backend.get(transferId, tx)
  if (transfer !== undefined) return transfer
  throw new OutlayError('transfer_not_found', `There is no transfer ${transferId}.`)
}
