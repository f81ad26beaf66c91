-- Writes one transfer as held, and what holds it, without a row in the outbox. Into a batch as enqueue_one_in() does. Returns as that.
create or replace function {{schema}}.enqueue_one_held(
  p_id text, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_not_before timestamptz, p_expires_at timestamptz,
  p_environment text, p_gateway text, p_batch_id text, p_replaces text, p_holds jsonb
) returns text language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
begin
  insert into {{schema}}.transfer
    (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, batch_id, stage, reason, event_sequence,
      created_at, updated_at)
  values (p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment, p_gateway, p_batch_id, 'held',
    p_holds -> 0 ->> 'name', 2, v_at, v_at)
  on conflict do nothing;
  if not found then
    return null;
  end if;
  if p_batch_id is not null then
    perform {{schema}}.record_batched(p_batch_id, p_replaces);
  end if;
  if exists (select from {{schema}}.subscription s where s.types @> array['transfer.enqueued']) then
    perform {{schema}}.record_first_events(array[p_id], v_at);
  end if;
  perform {{schema}}.record_holds(p_id, p_holds, v_at);
  return {{schema}}.iso(v_at);
end
$$;
