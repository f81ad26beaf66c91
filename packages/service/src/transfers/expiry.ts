import type { TransferRequest } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, TransferExpiry } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
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

/** How many transfers are canceled at once. */
const batchSize = 20

/**
 * Cancels the transfers whose time is over and that are still pending, as their client could. What its rail does not cancel, because
 * money has come or the rail does not answer, stays, and the next call asks again.
 */
export async function expireTransfers(context: ServiceContext): Promise<void> {
  const now = context.clock.now()
  await run(asSystem(context), context, forgetExpiries, [now])
  let after: { readonly expiresAt: Date; readonly id: string } | undefined
  for (;;) {
    const values = [now, after?.expiresAt ?? null, after?.id ?? null, batchSize]
    const due = await run(asSystem(context), context, selectExpired, values)
    await Promise.all(due.map(({ accountId, id }) => expire(context, accountId, id)))
    after = due.at(-1)
    if (after === undefined) return
  }
}

async function expire(context: ServiceContext, accountId: string, transferId: string): Promise<void> {
  try {
    await cancelTransfer(context, {}, accountId, transferId)
    context.logger.info({ transferId }, 'A transfer that was pending for too long is canceled.')
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error
    context.logger.warn({ transferId, error: name }, 'A transfer that is pending for too long could not be canceled.')
  }
}

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

const selectExpired = statement(
  'transfer_expired',
  `select id, account_id, expires_at
     from {{schema}}.transfer
    where expires_at <= $1 and status = 'pending' and ($2::timestamptz is null or (expires_at, id) > ($2, $3))
    order by expires_at, id
    limit $4`,
  rowDecoder('transfer', { id: Column.text, accountId: Column.text, expiresAt: Column.date }),
)
