-- concurrently: each statement by itself, so that none holds anybody up however large the table is.
-- One transfer of an account for each id at the service, which is what an id means. Earlier code cannot end an attempt beside this,
-- since it writes ids without looking whose they are.

-- Why what was found at the service could not be adopted; null where nobody has tried in vain.
alter table {{schema}}.found_transfer add column if not exists problem text;

-- Where two have one id, the one stays that was enqueued here and came first. What has ended stays as it ended, without its id.
with placed as (
  select t.id, row_number() over (
    partition by t.account_id, t.remote_id order by t.idempotency_key like 'adopted %', t.stage <> 'settled', t.id) as place
  from {{schema}}.transfer t where t.remote_id is not null
), changed as (
  update {{schema}}.transfer t
  set remote_id = null, reason = 'remote_id_taken', follow_at = null,
      stage = case when t.stage = 'settled' then 'settled' else 'blocked' end,
      status = case when t.stage = 'settled' then t.status else 'pending' end,
      unknown_since = case when t.stage <> 'settled' then coalesce(t.unknown_since, t.created_at) end,
      event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  from placed p where t.id = p.id and p.place > 1
  returning t.id, t.event_sequence, t.stage, t.status, t.failure, t.attempt
), told as (
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, failure, reason, attempt)
  select c.id, c.event_sequence, 'transfer.blocked', c.stage, c.status, c.failure, 'remote_id_taken', c.attempt from changed c
)
insert into {{schema}}.delivery (subscription, transfer_id, sequence, type)
select s.name, c.id, c.event_sequence, 'transfer.blocked' from changed c join {{schema}}.subscription s on s.types @> array['transfer.blocked'];

create unique index concurrently transfer_remote_id on {{schema}}.transfer (remote_id, account_id) where remote_id is not null;

drop index concurrently if exists {{schema}}.transfer_remote;

-- Whoever writes outcomes says by which rules they were decided, so a call of earlier code finds no function.
drop function if exists {{schema}}.settle(jsonb);

-- It answers with what could not be adopted, too.
drop function if exists {{schema}}.adopt_found(integer);

drop function if exists {{schema}}.adopt_lost(text, jsonb);

-- It can take an id from another transfer now.
drop function if exists {{schema}}.resolve(text, text, text, text);
