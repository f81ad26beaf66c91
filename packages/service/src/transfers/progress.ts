import {
  type EventType,
  type TransferFailure,
  TransferStatus,
  transferStatuses,
  type WebhookEventType,
} from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { listOf, run, statement } from '../database/statement.ts'
import type { RailFactKind } from '../rail-facts/fact-kind.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { recordEvents } from '../webhooks/events.ts'
import { readTransfer, type TransferRow } from './row.ts'
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

/** A change of the service's transfer. */
export interface TransferStep {
  readonly id: string
  readonly type: StepType
  readonly failure: TransferFailure | null
  /** The rail's reference, if it is known. */
  readonly reference: string | null
  readonly traceparent?: string | undefined
}

/**
 * Moves transfers forward, posts or voids their money and records the webhook events. Three statements for all of them. Resolves with the
 * transfers that have changed. An applied fact that says otherwise becomes an exception, which is logged and counted.
 */
export async function advanceTransfers(
  tx: Tx,
  context: ServiceContext,
  given: readonly TransferStep[],
): Promise<readonly TransferRow[]> {
  const written = given.map(({ id, type, failure, reference }) => ({
    ...{ id, failure, reference },
    from: before[type],
    to: steps[type],
  }))
  const rows = await run(tx, context, advance, [JSON.stringify(written), context.clock.now()])
  if (rows.some(({ status }) => status !== 'processing')) {
    const contradicted = await run(tx, context, selectContradicted)
    afterCommit(tx, () => reportExceptions(context, contradicted))
  }
  const changed = new Map(rows.map((row) => [row.id, row]))
  const recorded = given.flatMap(({ id, type, traceparent }) => {
    const row = changed.get(id)
    return row === undefined ? [] : [{ accountId: row.account_id, type, data: transferView(row), traceparent }]
  })
  await recordEvents(tx, context, recorded)
  return rows
}

/** Applies the engine's events to the service's transfers, in the transaction that acknowledges them. */
export function subscribeToEngine(context: ServiceContext): void {
  const types = Object.keys(steps) as readonly StepType[]
  context.engine.subscribeMany('service', types, async (events, tx) => {
    // Events of several tenants come together. When one of their transfers is locked, they come again one by one.
    await tx.query(`set local lock_timeout = '1s'`)
    const given = events.flatMap(({ type, transferId, transfer, traceparent }) =>
      isStep(type)
        ? [{ id: transferId, type, failure: transfer.failure, reference: transfer.remoteId, traceparent }]
        : [],
    )
    await advanceTransfers(tx, context, given)
  })
}

const advance = statement(
  'transfer_advance_many',
  `select ${listOf(readTransfer)} from {{schema}}.transfer_advance_many($1::jsonb, $2)`,
  readTransfer,
)

const readContradicted = rowDecoder('rail fact', {
  id: Column.text,
  kind: Column.word<RailFactKind>(),
  rail: Column.nullable(Column.text),
})

const selectContradicted = statement(
  'rail_fact_contradicted',
  'select id, kind, rail from {{schema}}.rail_fact_contradicted()',
  (row) => ({ ...readContradicted(row), reason: 'status_contradicted' as const }),
)
