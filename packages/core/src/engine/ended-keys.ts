import type { Logger } from '../ports/runtime.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'

/** Transfers that one line of the log names. */
const mostNamed = 5

/**
 * The same transfers, with a notice on those whose key stands for one that was canceled or failed, and a warning in the log: to a caller
 * that does not read the status, such an enqueue would seem to pay.
 */
export function noticeEnded(enqueued: readonly EnqueuedTransfer[], logger: Logger): readonly EnqueuedTransfer[] {
  const ended = enqueued.filter(isEnded)
  if (ended.length === 0) return enqueued
  const [first] = ended
  const fields = { transferIds: ended.slice(0, mostNamed).map(({ id }) => id), count: ended.length }
  if (first !== undefined) logger.warn(fields, ended.length === 1 ? describeEnded(first) : describeMany(ended))
  return enqueued.map((transfer) => (isEnded(transfer) ? { ...transfer, notice: describeEnded(transfer) } : transfer))
}

const isEnded = ({ reused, stage, status }: EnqueuedTransfer): boolean =>
  reused && stage === 'settled' && status !== 'complete'

const again = 'To pay again, call transfers.resubmit(tx, id), or enqueue with a new key.'

/** Says what a key stands for. The key is a host's own text, and may be long. */
const describeEnded = ({ id, status, resubmittedAs }: EnqueuedTransfer): string => {
  const ended = status === 'canceled' ? 'was canceled' : 'has failed'
  // A new key beside a successor would pay twice.
  const next =
    resubmittedAs === undefined ? again : `It was resubmitted as ${resubmittedAs}: see that transfer for its payment.`
  return `The idempotency key stands for the transfer ${id}, which ${ended}; nothing was enqueued. ${next}`
}

const describeMany = (ended: readonly EnqueuedTransfer[]): string => {
  const what = `${ended.length} idempotency keys stand for transfers that were canceled or have failed; nothing was enqueued for them.`
  return ended.some(({ resubmittedAs }) => resubmittedAs !== undefined)
    ? `${what} Some were resubmitted, as the notice of each says. To pay the others again, call transfers.resubmit(tx, id).`
    : `${what} ${again}`
}
