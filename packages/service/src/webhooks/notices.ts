import { Id } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** A message in its own format to one URL. */
export interface Notice {
  readonly accountId: string
  /** The result of {@link saveNoticeEndpoint}. */
  readonly registrationId: string
  readonly type: string
  /** Sent as JSON, unchanged and unsigned. */
  readonly body: unknown
}

/**
 * Writes the URL for notices in the caller's transaction, and returns its id. It is a hidden webhook registration that no event
 * matches. One that had answered 410 becomes active again. The caller has checked the URL.
 */
export async function saveNoticeEndpoint(
  tx: Tx,
  context: ServiceContext,
  endpoint: { readonly accountId: string; readonly url: string; readonly registrationId?: string | undefined },
): Promise<string> {
  const id = endpoint.registrationId ?? Id.generate(context.clock, context.random)
  await run(tx, context, upsertEndpoint, [id, endpoint.accountId, endpoint.url, context.clock.now()])
  return id
}

/** Records a notice in the caller's transaction. It is delivered and retried like webhooks. */
export async function recordNotice(tx: Tx, context: ServiceContext, notice: Notice): Promise<void> {
  const id = Id.generate(context.clock, context.random)
  const { accountId, registrationId, type, body } = notice
  const values = [id, accountId, type, JSON.stringify(body), context.clock.now(), registrationId]
  await run(tx, context, insertNotice, values)
}

const upsertEndpoint = statement(
  'webhook_registration_upsert_notice',
  `insert into {{schema}}.webhook_registration
     (id, account_id, kind, url, event_types, status, created_at, updated_at)
   values ($1, $2, 'notice', $3, '{}', 'active', $4, $4)
   on conflict (id) do update
      set url = excluded.url, proven = webhook_registration.proven and webhook_registration.url = excluded.url, status = 'active', disabled_reason = null, updated_at = excluded.updated_at`,
)

const insertNotice = statement(
  'webhook_event_insert_notice',
  `with endpoint as materialized (
     select id from {{schema}}.webhook_registration where id = $6 and status = 'active' for key share
   ), event as (
     insert into {{schema}}.webhook_event (id, account_id, type, body, created_at)
     select $1, $2, $3, $4, $5 where exists (select from endpoint)
   )
   insert into {{schema}}.webhook_delivery (registration_id, event_id, account_id, created_at)
   select id, $1, $2, $5 from endpoint`,
)
