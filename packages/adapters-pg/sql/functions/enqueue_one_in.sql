-- The same as enqueue_one_to, for a transfer of a batch, and of what it changes there. The caller has seen that it may enter it, and that the policies
-- let it.
create or replace function {{schema}}.enqueue_one_in(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text, p_batch_id text, p_replaces text
) returns text language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_is_first_wanted boolean := exists (select from {{schema}}.subscription s where s.types @> array['transfer.enqueued']);
begin
  insert into {{schema}}.transfer
    (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, created_at, updated_at)
  values (p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment, p_gateway, p_batch_id, v_at, v_at)
  on conflict do nothing;
  if not found then
    return null;
  end if;
  perform {{schema}}.record_batched(p_batch_id, p_replaces);
  if v_is_first_wanted then
    perform {{schema}}.record_first_events(array[p_id], v_at);
  end if;
  perform {{schema}}.queue_put_one(p_job, {{schema}}.gateway_account(p_gateway, p_account_id), coalesce(p_not_before, v_at), v_at);
  if p_notify then
    perform pg_notify('{{channel}}', case when v_is_first_wanted then '' else 'outbox' end);
  end if;
  return {{schema}}.iso(v_at);
end
$$;
