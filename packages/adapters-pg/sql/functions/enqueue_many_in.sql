-- Writes many transfers, each to a gateway and, unless it is an empty text, into a batch, with their events and rows in the outbox, all or none, in the order of their keys so that two batches cannot
-- deadlock. An absent time is an empty text: with array_nulls off an array has no nulls. Returns the positions whose keys are stored
-- already; `written` is false when nothing was written.
create or replace function {{schema}}.enqueue_many_in(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_batches text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_count integer;
  v_mismatch boolean := false;
begin
  -- Searching for stored keys row by row costs a third more, and there are nearly always none.
  begin
    insert into {{schema}}.transfer
      (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at)
    select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
      nullif(n.expires_at, '')::timestamptz, nullif(n.environment, ''), n.gateway, nullif(n.batch_id, ''), v_at, v_at
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at, p_environments, p_gateways, p_batches)
      as n (id, account_id, key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id)
    order by n.account_id collate "C", n.key collate "C";
    v_count := cardinality(p_ids);
  exception when unique_violation then
    v_count := null;
  end;
  if v_count is null then
    begin
      insert into {{schema}}.transfer
        (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at)
      select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
        nullif(n.expires_at, '')::timestamptz, nullif(n.environment, ''), n.gateway, nullif(n.batch_id, ''), v_at, v_at
      from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at, p_environments, p_gateways, p_batches)
        as n (id, account_id, key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id)
      order by n.account_id collate "C", n.key collate "C"
      on conflict do nothing;
      get diagnostics v_count = row_count;
      select true into v_mismatch
      from unnest(p_ids, p_account_ids, p_keys, p_fingerprints) as n (id, account_id, key, fingerprint)
      left join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
      where t.fingerprint is distinct from n.fingerprint
      limit 1;
      if v_mismatch then
        raise exception sqlstate 'OUTMM';
      end if;
    exception when sqlstate 'OUTMM' then
      v_mismatch := true;
    end;
  end if;
  if v_mismatch then
    return query
    select false, null::text, m.at from {{schema}}.mismatched_keys(p_account_ids, p_keys, p_fingerprints) as m (at);
    return;
  end if;

  perform {{schema}}.record_enqueued(
    case when v_count < cardinality(p_ids) then array(
      select t.id from unnest(p_ids) as n (id) join {{schema}}.transfer t on t.id = n.id and t.created_at = v_at) end,
    p_ids, p_jobs, case when 'default' = all (p_gateways) then p_account_ids else array(
      select {{schema}}.gateway_account(n.gateway, n.account_id)
      from unnest(p_gateways, p_account_ids) with ordinality as n (gateway, account_id, at) order by n.at) end, p_not_before, v_at);
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
