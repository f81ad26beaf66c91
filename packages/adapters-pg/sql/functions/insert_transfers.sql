-- Writes the rows of many transfers, those with holds as held. Returns how many were written, without those whose key is stored already; null, and
-- nothing is written, when a key is that of another request, or an id is there twice.
create or replace function {{schema}}.insert_transfers(
  p_ids text[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[], p_not_before text[], p_expires_at text[],
  p_environments text[], p_gateways text[], p_batches text[], p_holds text[], p_at timestamptz
) returns integer language plpgsql as $$
declare
  v_count integer;
  v_mismatch boolean := false;
begin
  -- Searching for stored keys row by row costs a third more, and there are nearly always none.
  begin
    insert into {{schema}}.transfer
      (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at,
        stage, reason, event_sequence)
    select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
      nullif(n.expires_at, '')::timestamptz, nullif(n.environment, ''), n.gateway, nullif(n.batch_id, ''), p_at, p_at,
      case when n.holds = '' then 'queued' else 'held' end, case when n.holds <> '' then n.holds::jsonb -> 0 ->> 'name' end,
      case when n.holds = '' then 1 else 2 end
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at, p_environments, p_gateways, p_batches,
        p_holds)
      as n (id, account_id, key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, holds)
    order by n.account_id collate "C", n.key collate "C";
    v_count := cardinality(p_ids);
  exception when unique_violation then
    v_count := null;
  end;
  if v_count is null and (select count(*) > count(distinct n.id) from unnest(p_ids) as n (id)) then
    -- Earlier code gives an id twice: what is written beside the first could be that of the second.
    v_mismatch := true;
  elsif v_count is null then
    begin
      insert into {{schema}}.transfer
        (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at,
        stage, reason, event_sequence)
      select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
        nullif(n.expires_at, '')::timestamptz, nullif(n.environment, ''), n.gateway, nullif(n.batch_id, ''), p_at, p_at,
      case when n.holds = '' then 'queued' else 'held' end, case when n.holds <> '' then n.holds::jsonb -> 0 ->> 'name' end,
      case when n.holds = '' then 1 else 2 end
      from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at, p_environments, p_gateways, p_batches,
        p_holds)
        as n (id, account_id, key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, holds)
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
  return case when v_mismatch then null else v_count end;
end
$$;
