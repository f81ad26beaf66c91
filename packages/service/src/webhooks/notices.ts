import { Id } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** A message of a form of its own to one URL. */
export interface Notice {
  readonly accountId: string
  /** What {@link saveNoticeEndpoint} gave. */
  readonly registrationId: string
  readonly type: string
  /** Sent as JSON, unsigned, and exactly so. */
  readonly body: unknown
}

/**
 * Writes the URL that notices go to in the caller's transaction, and gives its id. It is a webhook registration that
 * nobody sees and no event matches; one that had answered 410 is active again. The URL is checked already.
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

/** Records a notice in the caller's transaction: it is delivered and retried as webhooks are. */
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
      set url = excluded.url, status = 'active', disabled_reason = null, updated_at = excluded.updated_at`,
)

const insertNotice = statement(
  'webhook_event_insert_notice',
  `with endpoint as materialized (
     select id from {{schema}}.webhook_registration where id = $6 and status = 'active'
   ), event as (
     insert into {{schema}}.webhook_event (id, account_id, type, body, created_at)
     select $1, $2, $3, $4, $5 where exists (select from endpoint)
   )
   insert into {{schema}}.webhook_delivery (registration_id, event_id, account_id, created_at)
   select id, $1, $2, $5 from endpoint`,
)
