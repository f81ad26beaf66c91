-- Writes the outcomes of attempts: transfers, attempts, events and jobs. `p_rules` names the rules by which they were decided: one that
-- was decided by those of other code is refused, since it may take for proof what is none. Rows whose attempt is no longer the current one
-- are left alone but for their line in the attempts log. Answers with what became of each: `settled`, `stale`, or `locked` for
-- one that somebody else has locked, of which nothing is written. The plans are kept, and held to indexes: they may be made while
-- the tables are empty.
create or replace function {{schema}}.settle(p_settlements jsonb, p_rules integer) returns table (id text, attempt integer, result text)
language plpgsql set lock_timeout = '250ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_answer record;
  v_locked text[];
  v_ids text[];
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
begin
  if p_rules is distinct from 2 then
    raise exception 'These outcomes were decided by the rules % of other code; end the worker that wrote them.', p_rules;
  end if;
  with asked as materialized (
    select distinct s.id from jsonb_to_recordset(p_settlements) as s (id text)
  ), free as materialized (
    select t.id from {{schema}}.transfer t where t.id in (select k.id from asked k) order by t.id for no key update skip locked
  )
  select array_agg(t.id) into v_locked from {{schema}}.transfer t
  where t.id in (select k.id from asked k) and t.id not in (select f.id from free f);
  if v_locked is not null then
    return query
    select s.id, s.attempt, 'locked'::text from jsonb_to_recordset(p_settlements) as s (id text, attempt integer)
    where s.id = any (v_locked);
    p_settlements := (
      select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(p_settlements) as e where e ->> 'id' <> all (v_locked));
  end if;

  p_settlements := {{schema}}.block_taken(p_settlements);

  -- One by one: next to nothing is unanswered, so a plan for all at once that is made while the table is small reads its index from
  -- one end to the other, and goes on to do so while it grows.
  for v_answer in
    select * from jsonb_to_recordset(p_settlements) as s (
      id text, attempt integer, outcome text, detail text, http_status integer, request_id text)
  loop
    update {{schema}}.attempt a
    set answered_at = clock_timestamp(), outcome = v_answer.outcome, detail = v_answer.detail,
        http_status = v_answer.http_status, request_id = v_answer.request_id
    where a.transfer_id = v_answer.id and a.attempt = v_answer.attempt and a.answered_at is null;
  end loop;

  if p_settlements @? '$[*] ? (@.credentials == "refused" || exists (@.own_refusals))'
    or exists (select 1 from {{schema}}.refused_account) or exists (select 1 from {{schema}}.refused_transfer) then
    p_settlements := {{schema}}.note_credentials(p_settlements);
  end if;

  if p_settlements @? '$[*] ? (exists (@.address_id) || exists (@.forget) || exists (@.registration_unknown_since))' then
    perform {{schema}}.note_counterparties(p_settlements);
  end if;

  with s as materialized (
    select * from jsonb_to_recordset(p_settlements) as s (
      id text, job uuid, attempt integer, stage text, status text, failure jsonb, remote_id text, reason text,
      unknown_since timestamptz, reached_at timestamptz, retry_ms bigint, follow_ms bigint, events text[], credentials text, outcome text)
  ), changed as (
    update {{schema}}.transfer t
    set stage = s.stage, status = s.status, failure = nullif(s.failure, 'null'::jsonb), remote_id = coalesce(s.remote_id, t.remote_id),
        reason = s.reason, unknown_since = case when s.unknown_since is not null then coalesce(t.unknown_since, s.unknown_since) end,
        -- What a stop kept from leaving goes back as it was, a release included.
        released_at = case when s.outcome = 'stopped' then t.released_at end, reached_at = s.reached_at,
        follow_at = clock_timestamp() + s.follow_ms * interval '1 millisecond',
        event_sequence = t.event_sequence + coalesce(cardinality(s.events), 0),
        updated_at = clock_timestamp()
    from s
    where t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    returning t.id, t.account_id, t.attempt, s.job, s.stage, s.retry_ms, s.credentials, s.events, t.event_sequence - coalesce(cardinality(s.events), 0) as base
  ), again as (
    update {{queue_table}} j
    set state = 'retry', heartbeat_on = null,
        start_after = clock_timestamp() + case
          when c.stage = 'awaiting_funds' and exists (
            select 1 from {{schema}}.account f, {{schema}}.attempt a
            where f.account_id = c.account_id and a.transfer_id = c.id and a.attempt = c.attempt and f.funds_arrived_at > a.claimed_at
          ) then interval '1 second'
          -- The next probe is another one's; the sweep wakes whose turn it is.
          when c.credentials = 'refused' then interval '10 years'
          else c.retry_ms * interval '1 millisecond' end
    from changed c where j.name = '{{queue}}' and j.id = c.job and c.retry_ms is not null
  ), done as (
    delete from {{queue_table}} j using changed c where j.name = '{{queue}}' and j.id = c.job and c.retry_ms is null
  ), told as (
    select c.id, c.base + e.ordinality::integer as sequence, e.type
    from changed c cross join lateral unnest(c.events) with ordinality as e (type, ordinality)
  )
  select (select array_agg(c.id) from changed c), array_agg(t.id), array_agg(t.sequence), array_agg(t.type)
  into v_ids, v_event_ids, v_sequences, v_types
  from told t;

  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  if exists (select 1 from {{schema}}.submission_slot) then
    delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  end if;
  return query
  select s.id, s.attempt, case when s.id = any (v_ids) then 'settled' else 'stale' end
  from jsonb_to_recordset(p_settlements) as s (id text, attempt integer);
end
$$;
