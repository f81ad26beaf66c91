-- Writes events and their deliveries to subscriptions, for rows that were just changed: transfer ids, sequences and types. Its plans are kept: Postgres knows the length of
-- the arrays and would plan for each anew, which takes longer than a few rows.
create or replace function {{schema}}.record_events(p_ids text[], p_sequences integer[], p_types text[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, failure, remote_id, reason, attempt, returned)
  select t.id, e.sequence, e.type, t.stage, t.status, t.failure, t.remote_id, t.reason, t.attempt,
    case when e.type = 'transfer.returned' then (
      select jsonb_build_object('code', r.code, 'amount', jsonb_build_object('value', r.amount::text, 'currency', r.currency),
        'occurredAt', {{schema}}.iso(r.occurred_at))
      from {{schema}}.transfer_return r where r.transfer_id = e.id and r.sequence = e.sequence) end
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.transfer t on t.id = e.id;
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
  select s.name, e.id, e.sequence, e.type, t.account_id
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.subscription s on s.types @> array[e.type]
  join {{schema}}.transfer t on t.id = e.id;
end
$$;
