-- Writes many transfers, each to a gateway and, unless it is an empty text, into a batch, with their events and rows in the outbox, all or none, in the order
-- of their keys so that two batches cannot deadlock. Those with holds, a list as JSON, are written as held. An absent time is an empty text: with array_nulls off an array has no nulls. Returns
-- the positions whose keys are stored already; `written` is false when nothing was written. `at` is `stale`, and nothing is written, when the policies are
-- others than those with the tag.
create or replace function {{schema}}.enqueue_many_judged(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_batches text[],
  p_holds text[], p_policies text
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_count integer;
  -- Those that are held; null where none is, as nearly always.
  v_held text[] := case when '' <> any (p_holds) then array(
    select n.id from unnest(p_ids, p_holds) as n (id, holds) where n.holds <> '') end;
  v_written text[];
begin
  if (select p.tag from {{schema}}.policy_state p) is distinct from p_policies then
    return query select null::boolean, 'stale'::text, null::integer;
    return;
  end if;
  v_count := {{schema}}.insert_transfers(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at, p_environments,
    p_gateways, p_batches, p_holds, v_at);
  if v_count is null then
    return query
    select false, null::text, m.at from {{schema}}.mismatched_keys(p_account_ids, p_keys, p_fingerprints) as m (at);
    return;
  end if;
  v_written := case when v_count < cardinality(p_ids) then array(
    select t.id from unnest(p_ids) as n (id) join {{schema}}.transfer t on t.id = n.id and t.created_at = v_at) end;
  perform {{schema}}.record_enqueued(v_written, p_ids, p_jobs, case when 'default' = all (p_gateways) then p_account_ids else array(
      select {{schema}}.gateway_account(n.gateway, n.account_id)
      from unnest(p_gateways, p_account_ids) with ordinality as n (gateway, account_id, at) order by n.at) end, p_not_before, v_at, v_held);
  if v_held is not null then
    perform {{schema}}.record_holds(n.id, n.holds::jsonb, v_at)
    from unnest(p_ids, p_holds) as n (id, holds) where n.holds <> '' and (v_written is null or n.id = any (v_written));
  end if;
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;

  return query select true, {{schema}}.iso(v_at), null::integer;
  if v_count < cardinality(p_ids) then
    return query
    select true, null::text, n.position::integer
    from unnest(p_ids) with ordinality as n (id, position)
    where not exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  end if;
end
$$;
