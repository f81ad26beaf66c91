-- Finds acceptances with an id at the service that another transfer of the account has, or gets by the same call: the service
-- answers two of our keys with one transfer, or a person has given that id to a wrong row. Blocks the later transfer: it is not
-- sent again and not reported as paid, and its attempt says whose id it is. The others do not change.
create or replace function {{schema}}.block_duplicate_remote_ids(p_settlements jsonb) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_duplicates jsonb;
begin
  with accepted as materialized (
    select t.id, t.account_id, t.gateway, s.remote_id, t.updated_at, coalesce(t.unknown_since, t.updated_at) as unknown_since
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, remote_id text)
    -- One by one: a plan that is kept from when the table was small would read all of it.
    cross join lateral (
      select t.* from {{schema}}.transfer t
      where t.id = s.id and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked') and t.remote_id is null offset 0) t
    where s.remote_id is not null
  ), checked as (
    select a.*, coalesce(
      (select o.id from {{schema}}.transfer o where o.remote_id = a.remote_id and o.account_id = a.account_id
        and o.gateway = a.gateway and o.id <> a.id),
      nullif(min(a.id) over (partition by a.account_id, a.gateway, a.remote_id), a.id)) as other_id
    from accepted a
  )
  select jsonb_object_agg(k.id, jsonb_build_object(
    'stage', 'blocked', 'status', 'pending', 'failure', null, 'remote_id', null, 'taken_id', k.remote_id, 'reason', 'remote_id_taken', 'reached_at', null,
    'unknown_since', k.unknown_since, 'retry_ms', null, 'poll_after_ms', null, 'events', jsonb_build_array('transfer.blocked'),
    'detail', 'accepted as ' || k.remote_id || ', which is the id of the transfer ' || k.other_id || ' of the account'))
  into v_duplicates from checked k where k.other_id is not null;
  if v_duplicates is null then
    return p_settlements;
  end if;
  return (
    select jsonb_agg(case when e ->> 'remote_id' is null then e else e || coalesce(v_duplicates -> (e ->> 'id'), '{}') end)
    from jsonb_array_elements(p_settlements) as e);
end
$$;
