-- Settle: the outcomes of attempts.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Notes what answers say about the credentials of accounts. An answer counts only while there were no more refusals since its
-- claim: of a hundred in flight one is enough. Adds an event for each account whose credentials turned. The transfers are
-- locked by the caller. An account whose row a host has locked, because it has just mended the credentials, is left for the next
-- probe to tell of.
create or replace function {{schema}}.note_credentials(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_news jsonb;
  v_free text[];
begin
  v_free := array(
    select r.account_id from {{schema}}.refused_account r
    where r.account_id in (
      select t.account_id from jsonb_to_recordset(p_settlements) as s (id text) join {{schema}}.transfer t on t.id = s.id)
    order by r.account_id for update skip locked);
  perform {{schema}}.note_refusals(p_settlements);
  with verdict as materialized (
    select distinct on (t.account_id) t.account_id, s.id, s.credentials, s.refusals,
      clock_timestamp() + coalesce(s.retry_ms, 0) * interval '1 millisecond' as probe_at
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, credentials text, refusals integer, retry_ms bigint)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    where t.account_id = any (v_free) or not exists (
      select 1 from {{schema}}.refused_account r where r.account_id = t.account_id)
    order by t.account_id, s.refusals desc, s.credentials is distinct from 'refused', s.id
  ), refused as (
    -- Where one transfer was refused alone before, another one is asked at once.
    insert into {{schema}}.refused_account as r (account_id, probed_id, probe_at)
    select v.account_id, v.id, case when exists (
        select 1 from {{schema}}.refused_transfer o where o.account_id = v.account_id and o.refusals + o.passed::integer > 0)
      then clock_timestamp() else v.probe_at end
    from verdict v where v.credentials = 'refused'
    on conflict (account_id) do update
    set refusals = r.refusals + 1, probe_at = excluded.probe_at
    where r.refusals = (select v.refusals from verdict v where v.account_id = r.account_id)
    returning r.account_id, r.refusals
  ), restored as (
    delete from {{schema}}.refused_account r using verdict v
    where r.account_id = v.account_id and v.credentials = 'good' and r.refusals = v.refusals
    returning r.account_id
  ), undecided as (
    update {{schema}}.refused_account r set probe_at = v.probe_at from verdict v
    where r.account_id = v.account_id and v.credentials is null and r.refusals = v.refusals
  )
  select jsonb_object_agg(v.id, 'account.credentials_' || n.turn) into v_news
  from verdict v join (
    select f.account_id, 'refused' as turn from refused f where f.refusals = 1
    union all select o.account_id, 'restored' from restored o
  ) n on n.account_id = v.account_id;
  return case when v_news is null then p_settlements else (
    select jsonb_agg(case when v_news ? (e ->> 'id')
      then jsonb_set(e, '{events}', jsonb_build_array(v_news -> (e ->> 'id')) || (e -> 'events')) else e end)
    from jsonb_array_elements(p_settlements) as e
  ) end;
end
$$;

-- Writes down whose requests were refused for their credentials, and that others of their account have passed since. The transfers
-- are locked by the caller; rows that another worker is writing are left to it.
create or replace function {{schema}}.note_refusals(p_settlements jsonb) returns void language plpgsql as $$
begin
  with heard as materialized (
    select t.id, t.account_id, s.credentials, s.own_refusals
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, credentials text, own_refusals integer)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
  ), refused as (
    insert into {{schema}}.refused_transfer as o (transfer_id, account_id, refusals)
    select h.id, h.account_id, coalesce(h.own_refusals, 0) from heard h where h.credentials = 'refused' or h.own_refusals > 0
    on conflict (transfer_id) do update set refusals = greatest(o.refusals, excluded.refusals), passed = false
  ), taken as (
    delete from {{schema}}.refused_transfer o using heard h where o.transfer_id = h.id and h.credentials = 'good'
  ), outdone as (
    select o.transfer_id from {{schema}}.refused_transfer o
    where not o.passed and o.account_id in (select h.account_id from heard h where h.credentials = 'good')
      and o.transfer_id not in (select h.id from heard h where h.credentials is not null or h.own_refusals > 0)
    for update skip locked
  )
  update {{schema}}.refused_transfer o set passed = true from outdone d where o.transfer_id = d.transfer_id;
end
$$;

-- Writes events and what they mean for subscribers; `p_events` holds (transfer id, position, type) of rows just changed.
create or replace function {{schema}}.record_events(p_ids text[], p_sequences integer[], p_types text[])
returns void language plpgsql as $$
begin
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, failure, remote_id, reason, attempt)
  select t.id, e.sequence, e.type, t.stage, t.status, t.failure, t.remote_id, t.reason, t.attempt
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.transfer t on t.id = e.id;
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type)
  select s.name, e.id, e.sequence, e.type
  from unnest(p_ids, p_sequences, p_types) as e (id, sequence, type)
  join {{schema}}.subscription s on s.types @> array[e.type];
end
$$;

-- Finds acceptances with an id at the service that another transfer of the account has, or gets by the same call: the service
-- answers two of our keys with one transfer, or somebody has given that one to a wrong row. Nothing more is sent of the later
-- one, and nothing is told as paid: it is blocked, and its attempt says whose id it is. The others are as they were.
create or replace function {{schema}}.block_taken(p_settlements jsonb) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_taken jsonb;
begin
  with accepted as materialized (
    select t.id, t.account_id, s.remote_id, t.updated_at, coalesce(t.unknown_since, t.updated_at) as unknown_since
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, remote_id text)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    where s.remote_id is not null
  ), taken as (
    select a.*, coalesce(
      (select o.id from {{schema}}.transfer o where o.remote_id = a.remote_id and o.account_id = a.account_id and o.id <> a.id),
      nullif(min(a.id) over (partition by a.account_id, a.remote_id), a.id)) as other_id
    from accepted a
  )
  select jsonb_object_agg(k.id, jsonb_build_object(
    'stage', 'blocked', 'status', 'pending', 'failure', null, 'remote_id', null, 'reason', 'remote_id_taken', 'reached_at', null,
    'unknown_since', k.unknown_since, 'retry_ms', null, 'follow_ms', null, 'events', jsonb_build_array('transfer.blocked'),
    'detail', 'accepted as ' || k.remote_id || ', which is the id of the transfer ' || k.other_id || ' of the account'))
  into v_taken from taken k where k.other_id is not null;
  if v_taken is null then
    return p_settlements;
  end if;
  return (select jsonb_agg(e || coalesce(v_taken -> (e ->> 'id'), '{}')) from jsonb_array_elements(p_settlements) as e);
end
$$;

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
