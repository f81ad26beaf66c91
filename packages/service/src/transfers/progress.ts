import { type EventType, TransferStatus, transferStatuses, type WebhookEventType } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { recordEvent } from '../webhooks/events.ts'
import { readTransfer } from './row.ts'
import { transferView } from './view.ts'

/** How an event of the engine changes the service's transfer. */
const steps = {
  'transfer.processing': 'processing',
  'transfer.completed': 'complete',
  'transfer.failed': 'failed',
  'transfer.canceled': 'canceled',
} as const satisfies Partial<Record<EventType & WebhookEventType, TransferStatus>>

type StepType = keyof typeof steps

const isStep = (type: EventType): type is StepType => type in steps

/** A retriable failure: the only way out of `failed`. The table's statement checks that. */
const curable = { type: 'unknown', code: '', detail: '', occurredAt: '1970-01-01T00:00:00Z', retriable: true } as const

/**
 * Statuses that an event may find. The status only moves forward, and steps in between may be missing. After a retriable failure,
 * a final one may follow.
 */
function statusesBefore(to: TransferStatus): readonly TransferStatus[] {
  const failure = to === 'failed' ? { ...curable, retriable: false } : null
  const observation = { status: to, failure, reachedAt: '1970-01-01T00:00:01Z' }
  return transferStatuses.filter((from) => {
    const current = { status: from, failure: from === 'failed' ? curable : null }
    return TransferStatus.advance(current, observation) !== undefined
  })
}

const before: Readonly<Record<StepType, readonly TransferStatus[]>> = {
  'transfer.processing': statusesBefore('processing'),
  'transfer.completed': statusesBefore('complete'),
  'transfer.failed': statusesBefore('failed'),
  'transfer.canceled': statusesBefore('canceled'),
}

/** Maximum number of the engine's events in one transaction. */
const batchSize = 20

/**
 * Applies the engine's events to the service's transfers. Each event moves the transfer forward, posts or voids its money and
 * records the webhook event, in the transaction that acknowledges the event. Two statements per event.
 */
export function subscribeToEngine(context: ServiceContext): void {
  const types = Object.keys(steps) as readonly StepType[]
  context.engine.subscribe(
    'service',
    types,
    async (event, tx) => {
      if (!isStep(event.type)) return
      const { failure, remoteId } = event.transfer
      const [row] = await run(tx, context, advanceTransfer, [
        event.transferId,
        before[event.type],
        steps[event.type],
        failure === null ? null : JSON.stringify(failure),
        remoteId,
        context.clock.now(),
      ])
      if (row === undefined) return
      await recordEvent(tx, context, { accountId: row.account_id, type: event.type, data: transferView(row) })
    },
    { batchSize },
  )
}

const advanceTransfer = statement(
  'transfer_advance',
  'select * from {{schema}}.transfer_advance($1, $2, $3, $4::jsonb, $5, $6)',
  readTransfer,
)
