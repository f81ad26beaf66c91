-- The same as enqueue_many_judged, with what is stored beside each transfer, as JSON: {"metadata": {…}, "batch": id, "createdBy": actor, "holds": […],
-- "watches": […], "policies": tag}, or an empty text for nothing. Returns no row and writes nothing where a batch may not have one of them. Earlier code gives no
-- tag: where there are policies, what it enqueues is held.
create or replace function {{schema}}.enqueue_many_with(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_beside text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
#variable_conflict use_column
declare
  v_batches text[] := array(
    select coalesce(nullif(n.beside, '')::jsonb ->> 'batch', '') from unnest(p_beside) with ordinality as n (beside, position)
    order by n.position);
  v_row record;
  v_tag text := (select p.tag from {{schema}}.policy_state p);
  v_first jsonb := (select n.beside::jsonb from unnest(p_beside) as n (beside) where n.beside <> '' limit 1);
  v_is_judged boolean := v_first is null or v_first ? 'policies';
  v_holds text[] := array(
    select case when v_is_judged or v_tag is null then coalesce((nullif(n.beside, '')::jsonb -> 'holds')::text, '')
      else {{schema}}.unjudged_holds()::text end
    from unnest(p_beside) with ordinality as n (beside, position) order by n.position);
  -- Without any there is nothing to read once more.
  v_has_watches boolean := exists (select from unnest(p_beside) as n (beside) where n.beside like '%"watches":%');
  v_is_stale boolean;
  v_written boolean := false;
  v_stored integer[] := '{}';
begin
  if v_is_judged and v_tag is distinct from v_first ->> 'policies' then
    return query select null::boolean, 'stale'::text, null::integer;
    return;
  end if;
  if '' <> any (v_batches) and exists (select from {{schema}}.refused_batches(p_account_ids, p_keys, v_batches)) then
    return;
  end if;
  loop
    v_is_stale := false;
    for v_row in
      select * from {{schema}}.enqueue_many_judged(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify, p_not_before,
        p_expires_at, p_environments, p_gateways, v_batches, v_holds, v_tag)
    loop
      v_is_stale := v_row.at is not distinct from 'stale';
      exit when v_is_stale and not v_is_judged;
      v_written := v_written or v_row.at is not null and not v_is_stale;
      v_stored := v_stored || v_row.stored_position;
      return query select v_row.written, v_row.at, v_row.stored_position;
    end loop;
    exit when v_is_judged or not v_is_stale;
    -- A change of the policies since. Earlier code would take `stale` for written.
    v_tag := (select p.tag from {{schema}}.policy_state p);
    v_holds := array_fill({{schema}}.unjudged_holds()::text, array[cardinality(p_ids)]);
  end loop;
  if not v_written then
    return;
  end if;
  v_stored := array_remove(v_stored, null);
  insert into {{schema}}.transfer_metadata (transfer_id, name, value)
  select n.id, e.key, e.value
  from unnest(p_ids, p_beside) with ordinality as n (id, beside, position)
  cross join lateral jsonb_each_text(nullif(n.beside, '')::jsonb -> 'metadata') as e (key, value)
  where n.beside <> '' and n.position <> all (v_stored);
  insert into {{schema}}.batch_change (batch_id, pending, unended)
  select n.batch_id, count(*), count(*) from unnest(v_batches) with ordinality as n (batch_id, position)
  where n.batch_id <> '' and n.position <> all (v_stored) group by n.batch_id order by n.batch_id;
  insert into {{schema}}.transfer_creator (transfer_id, created_by)
  select n.id, n.beside::jsonb ->> 'createdBy' from unnest(p_ids, p_beside) with ordinality as n (id, beside, position)
  where n.beside <> '' and n.beside::jsonb ? 'createdBy' and n.position <> all (v_stored);
  if v_has_watches then
    perform {{schema}}.record_watches(n.id, n.beside::jsonb -> 'watches') from unnest(p_ids, p_beside) with ordinality as n (id, beside, position)
    where n.beside <> '' and n.beside::jsonb ? 'watches' and n.position <> all (v_stored);
  end if;
end
$$;
