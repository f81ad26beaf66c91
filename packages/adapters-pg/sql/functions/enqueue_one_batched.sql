-- The same as enqueue_one_under, for a transfer of a batch, which it enters in place of none. Returns a text that begins with `batch ` and writes
-- nothing where the batch may not have it. It says what enqueue_one_with says, in as few statements and expressions as it can: a transaction
-- that enqueues one transfer pays for each of them.
create or replace function {{schema}}.enqueue_one_batched(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text, p_policies text, p_batch_id text
) returns text language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_is_wanted boolean;
  v_is_stale boolean;
  v_may_enter boolean;
  v_refusal text;
begin
  -- It waits for a completion, or fails as a concurrent change, where that may be unseen.
  if not pg_try_advisory_xact_lock_shared({{schema}}.batch_lock(p_batch_id)) or current_setting('transaction_isolation') <> 'read committed' then
    perform {{schema}}.batch_refusal(p_batch_id, p_account_id, false);
  end if;
  -- Behind the lock, so that it sees who has completed the batch.
  select exists (select from {{schema}}.subscription s where s.types @> array['transfer.enqueued']),
    (select p.tag from {{schema}}.policy_state p) is distinct from p_policies,
    exists (
      select from {{schema}}.batch b
      where b.id = p_batch_id and b.completed_at is null and (b.account_id = p_account_id or b.account_id is null)
        and not exists (select from {{schema}}.closed_batch c where c.batch_id = b.id))
  into v_is_wanted, v_is_stale, v_may_enter;
  if v_is_stale or not v_may_enter then
    if v_is_stale then
      return 'stale';
    end if;
    v_refusal := {{schema}}.batch_refusal(p_batch_id, p_account_id, false);
    if v_refusal is not null then
      -- A repeat is harmless, also when the batch has been closed since.
      return case when not exists (
        select from {{schema}}.transfer t where t.account_id = p_account_id and t.idempotency_key = p_key) then 'batch ' || v_refusal end;
    end if;
  end if;
  with written as (
    insert into {{schema}}.transfer
      (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at)
    values (p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment, p_gateway, p_batch_id, v_at, v_at)
    on conflict do nothing returning batch_id
  )
  insert into {{schema}}.batch_change (batch_id, pending, unended) select w.batch_id, 1, 1 from written w;
  if not found then
    return null;
  end if;
  if v_is_wanted then
    perform {{schema}}.record_first_events(array[p_id], v_at);
  end if;
  perform {{schema}}.queue_put_one(p_job, {{schema}}.gateway_account(p_gateway, p_account_id), coalesce(p_not_before, v_at), v_at);
  if p_notify then
    perform pg_notify('{{channel}}', case when v_is_wanted then '' else 'outbox' end);
  end if;
  return {{schema}}.iso(v_at);
end
$$;
