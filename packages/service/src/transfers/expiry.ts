import { OutlayError, type TransferRequest } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, TransferExpiry } from '../context.ts'
import { sqlStateOf } from '../database/conflict.ts'
import { run, statement } from '../database/statement.ts'
import { asWorker } from '../database/tenant.ts'
import type { RailFlow } from '../rails/port.ts'
import { railOf } from '../rails/rail-call.ts'
import { cancelTransfer } from './cancellation.ts'

const defaults: TransferExpiry = { wire: 14 * 24 }

const hourMs = 3_600_000

/** When a new transfer ends by itself if it is still pending; `undefined` for never. */
export function findExpiry(
  { transferExpiryHours = {} }: Pick<ServiceContext, 'transferExpiryHours'>,
  flow: RailFlow,
  ends: Pick<TransferRequest, 'source' | 'destination'>,
  now: Date,
): Date | undefined {
  const rail = railOf(flow, ends)
  const hours = transferExpiryHours[rail] === undefined ? defaults[rail] : transferExpiryHours[rail]
  return hours == null ? undefined : new Date(now.getTime() + hours * hourMs)
}

/** How many transfers of one rail are canceled at once. */
const batchSize = 20

/** After so many batches without any answer, a rail is asked about the others the next time. */
const mostSilentBatches = 3

/** A place among the transfers whose time is over. */
interface ExpiryPlace {
  readonly expiresAt: Date
  readonly id: string
}

/** Where the next call goes on with a rail that did not answer: what hangs must not keep those behind it from being asked about. */
const places = new WeakMap<object, Map<string, ExpiryPlace>>()

/**
 * Cancels the transfers whose time is over and that are still pending, as their client could. What its rail does not cancel, because
 * money has come or the rail does not answer, stays, and the next call asks again. Rails do not wait for each other. One that does not answer
 * about {@link mostSilentBatches} batches in a row is left, and the next call goes on behind them.
 */
export async function expireTransfers(context: ServiceContext): Promise<void> {
  const now = context.clock.now()
  await run(asWorker(context), context, forgetExpiries, [now])
  const rails = await run(asWorker(context), context, selectRails, [now])
  const ended = await Promise.allSettled(rails.map(({ rail }) => expireOfRail(context, rail, now)))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}

async function expireOfRail(context: ServiceContext, rail: string, now: Date): Promise<void> {
  const known = places.get(context.rails) ?? new Map<string, ExpiryPlace>()
  places.set(context.rails, known)
  let after = known.get(rail)
  known.delete(rail)
  for (let silent = 0; silent < mostSilentBatches; ) {
    const values = [now, after?.expiresAt ?? null, after?.id ?? null, batchSize, rail]
    const due = await run(asWorker(context), context, selectExpired, values)
    const answered = await Promise.all(due.map(({ accountId, id }) => expire(context, accountId, id)))
    after = due.at(-1)
    if (after === undefined) return
    silent = answered.includes(true) ? 0 : silent + 1
  }
  if (after !== undefined) known.set(rail, after)
  context.logger.warn(
    { rail },
    'A rail does not answer about transfers that are pending for too long; it is asked the next time.',
  )
}

/** False when the rail gave no answer. */
async function expire(context: ServiceContext, accountId: string, transferId: string): Promise<boolean> {
  try {
    await cancelTransfer(context, {}, accountId, transferId)
    context.logger.info({ transferId }, 'A transfer that was pending for too long is canceled.')
    return true
  } catch (error) {
    const name = sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
    context.logger.warn({ transferId, error: name }, 'A transfer that is pending for too long could not be canceled.')
    return !OutlayError.is(error, 'service_unavailable')
  }
}

/** Name of the rail that has to cancel a transfer, as {@link railOf} says it. */
const railName = `case when flow = 'onramp' then source_transfer_type else destination_transfer_type end`

const forgetExpiries = statement(
  'transfer_forget_expiries',
  // One that another transaction has locked is forgotten the next time: waiting for several of them could be a deadlock.
  `with ended as materialized (
     select id from {{schema}}.transfer
      where expires_at <= $1 and status <> 'pending'
      order by account_id, id
        for no key update skip locked
   )
   update {{schema}}.transfer set expires_at = null where id = any (array(select id from ended))`,
)

const selectRails = statement(
  'transfer_expired_rails',
  `select distinct ${railName} as rail from {{schema}}.transfer where expires_at <= $1 and status = 'pending'`,
  rowDecoder('transfer', { rail: Column.text }),
)

const selectExpired = statement(
  'transfer_expired',
  `select id, account_id, expires_at
     from {{schema}}.transfer
    where expires_at <= $1 and status = 'pending' and ($2::timestamptz is null or (expires_at, id) > ($2, $3))
      and ${railName} = $5
    order by expires_at, id
    limit $4`,
  rowDecoder('transfer', { id: Column.text, accountId: Column.text, expiresAt: Column.date }),
)
