-- Writes many transfers with their events and jobs, all or none, in the order of their keys so that two batches cannot
-- deadlock. A time that is not given is an empty text: with array_nulls off an array has no nulls. Answers with the taken keys and
-- the fingerprints they have; `written` is false when nothing was written.
create or replace function {{schema}}.enqueue_many(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_bases integer[], p_offsets integer[], p_notify boolean, p_not_before text[], p_expires_at text[], p_environment text
) returns table (written boolean, at text, tag integer, taken_position integer) language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_count integer;
  v_mismatch boolean := false;
begin
  -- Looking for taken keys row by row costs a third more, and nearly always none is taken.
  begin
    insert into {{schema}}.transfer
      (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, created_at, updated_at)
    select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
      nullif(n.expires_at, '')::timestamptz, p_environment, v_at, v_at
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at)
      as n (id, account_id, key, fingerprint, request, not_before, expires_at)
    order by n.account_id collate "C", n.key collate "C";
    v_count := cardinality(p_ids);
  exception when unique_violation then
    v_count := null;
  end;
  if v_count is null then
    begin
      insert into {{schema}}.transfer
        (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, created_at, updated_at)
      select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb, nullif(n.not_before, '')::timestamptz,
        nullif(n.expires_at, '')::timestamptz, p_environment, v_at, v_at
      from unnest(p_ids, p_account_ids, p_keys, p_fingerprints, p_requests, p_not_before, p_expires_at)
        as n (id, account_id, key, fingerprint, request, not_before, expires_at)
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
    select false, null::text, null::integer, n.position::integer
    from unnest(p_ids, p_account_ids, p_keys, p_fingerprints) with ordinality as n (id, account_id, key, fingerprint, position)
    left join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
    left join unnest(p_account_ids, p_keys, p_fingerprints) with ordinality as m (account_id, key, fingerprint, position)
      on m.account_id = n.account_id and m.key = n.key and m.position < n.position
    where (t.id is not null and t.fingerprint <> n.fingerprint) or (m.key is not null and m.fingerprint <> n.fingerprint)
    order by n.position;
    return;
  end if;

  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  select n.id, 1, 'transfer.enqueued', 'queued', 'pending', 0, v_at
  from unnest(p_ids) as n (id)
  where v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type)
  select s.name, e.id, 1, 'transfer.enqueued'
  from {{schema}}.subscription s, unnest(p_ids) as e (id)
  where s.types @> array['transfer.enqueued']
    and (v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = e.id and t.created_at = v_at));
  insert into {{queue_table}} (id, name, priority, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select n.job, '{{queue}}',
    -n.position - least(2000000000, case when n.base > c.tag and n.base - c.tag < 1000000000 then n.base else c.tag end),
    coalesce(nullif(n.not_before, '')::timestamptz, v_at), {{retry_limit}}, {{expire_seconds}}, {{heartbeat_seconds}},
    v_at + interval '100 years', 'standard'
  from {{schema}}.dispatch_clock c, unnest(p_ids, p_jobs, p_bases, p_offsets, p_not_before) as n (id, job, base, position, not_before)
  where v_count = cardinality(p_ids) or exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;

  return query select true, {{schema}}.iso(v_at), c.tag, null::integer from {{schema}}.dispatch_clock c;
  if v_count < cardinality(p_ids) then
    return query
    select true, null::text, null::integer, n.position::integer
    from unnest(p_ids) with ordinality as n (id, position)
    where not exists (select 1 from {{schema}}.transfer t where t.id = n.id and t.created_at = v_at);
  end if;
end
$$;
