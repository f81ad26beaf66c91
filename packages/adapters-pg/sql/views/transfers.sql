create or replace view {{schema}}.transfers as
select t.id, t.account_id, t.idempotency_key, t.stage, t.status, t.reason,
  t.request -> 'amount' ->> 'value' as amount,
  t.request -> 'amount' ->> 'currency' as currency,
  concat_ws(' ', t.request -> 'source' ->> 'valueType', t.request -> 'source' ->> 'transferType') as source,
  concat_ws(' ', t.request -> 'destination' ->> 'valueType', t.request -> 'destination' ->> 'transferType') as destination,
  t.failure ->> 'code' as failure_code, t.failure ->> 'detail' as failure_detail,
  t.remote_id, t.attempt as attempts, now() - t.created_at as age, t.unknown_since,
  -- A transfer that waits for a person has a job that is deferred for years.
  case when t.stage in ('queued', 'awaiting_funds') and (t.reason is null or j.due_at < now() + interval '1 year')
    then j.due_at end as next_attempt_at,
  t.next_poll_at as next_poll_at,
  j.state as job_state, t.not_before, t.expires_at, t.created_at, t.updated_at, t.submission_key, t.client, t.gateway,
  (select jsonb_object_agg(x.name, x.value) from {{schema}}.transfer_metadata x where x.transfer_id = t.id) as metadata,
  (select x.transfer_id from {{schema}}.resubmission x where x.successor_id = t.id) as resubmission_of,
  (select x.successor_id from {{schema}}.resubmission x where x.transfer_id = t.id) as resubmitted_as,
  t.batch_id,
  (select x.created_by from {{schema}}.transfer_creator x where x.transfer_id = t.id) as created_by,
  t.paid -> 'amount' ->> 'value' as paid_amount
from {{schema}}.transfer t
left join {{schema}}.queue_jobs() j on j.job = {{schema}}.job_id(t.id) and t.stage in ('queued', 'submitting', 'awaiting_funds');
comment on view {{schema}}.transfers is
  'Every transfer, one row each. Indexed are id, (account_id, idempotency_key), remote_id, "remote_id is null and status = ''pending''" for what was not submitted, and (gateway, next_poll_at).';
comment on column {{schema}}.transfers.stage is
  'Where it stands in the engine: held, queued, submitting, awaiting_funds, submitted, blocked, settled.';
comment on column {{schema}}.transfers.status is 'What the service says about the money: pending, processing, failed, canceled, complete.';
comment on column {{schema}}.transfers.reason is 'Why it waits or is blocked; null when it does neither.';
comment on column {{schema}}.transfers.unknown_since is
  'Since when a request may have had an unconfirmed effect; null when every attempt was answered.';
comment on column {{schema}}.transfers.next_attempt_at is 'When it may be sent next; null when it is not about to be.';
comment on column {{schema}}.transfers.next_poll_at is 'When its status at the service is polled next; null when it is not polled.';
comment on column {{schema}}.transfers.job_state is 'waiting in the outbox, or the state of its job in the queue: active; null when it is in neither.';
comment on column {{schema}}.transfers.submission_key is
  'The idempotency key that is sent; null before the first attempt, and where earlier code sent the host''s key.';
comment on column {{schema}}.transfers.client is 'The client of its last request, where the gateway distinguishes clients.';
comment on column {{schema}}.transfers.gateway is 'The gateway that it is sent to.';
comment on column {{schema}}.transfers.metadata is 'What the host has noted beside it; null where it has nothing. transfer_metadata finds it.';
comment on column {{schema}}.transfers.resubmission_of is 'The ended transfer that it was resubmitted for.';
comment on column {{schema}}.transfers.resubmitted_as is 'The transfer that it was resubmitted as.';
comment on column {{schema}}.transfers.batch_id is 'The batch that it belongs to.';
comment on column {{schema}}.transfers.created_by is 'Who created it, where the host has said so.';
comment on column {{schema}}.transfers.paid_amount is 'What was paid, where that is another amount than was asked for; null otherwise.';
