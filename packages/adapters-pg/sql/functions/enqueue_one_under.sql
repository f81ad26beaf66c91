-- Writes one transfer to a gateway and its row in the outbox, and its first event where a subscription wants that. Returns the time; null when the key is
-- in use; `stale` when the policies are others than those with the tag, and then nothing is written. The tag is null where there are none.
-- One text, because a function in `from` costs more than one in `select`.
create or replace function {{schema}}.enqueue_one_under(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text, p_policies text
) returns text language plpgsql as $$
declare
  v_at timestamptz := clock_timestamp();
  v_is_wanted boolean;
  v_is_stale boolean;
begin
  -- One statement: each costs as much as the reads in it.
  select exists (select from {{schema}}.subscription s where s.types @> array['transfer.enqueued']),
    (select p.tag from {{schema}}.policy_state p) is distinct from p_policies
  into v_is_wanted, v_is_stale;
  if v_is_stale then
    return 'stale';
  end if;
  insert into {{schema}}.transfer
    (id, account_id, idempotency_key, fingerprint, request, not_before, expires_at, environment, gateway, created_at, updated_at)
  values (p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment, p_gateway, v_at, v_at)
  on conflict do nothing;
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
