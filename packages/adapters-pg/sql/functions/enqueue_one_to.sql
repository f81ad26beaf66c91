-- What code that knows no policies calls. Where there are some, what it enqueues is held: nobody has judged it.
create or replace function {{schema}}.enqueue_one_to(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text
) returns text language plpgsql as $$
declare
  v_at text := {{schema}}.enqueue_one_under(p_id, p_job, p_account_id, p_key, p_fingerprint, p_request, p_notify, p_not_before, p_expires_at,
    p_environment, p_gateway, null);
begin
  if v_at = 'stale' then
    return {{schema}}.enqueue_one_held(p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment,
      p_gateway, null, null, {{schema}}.unjudged_holds());
  end if;
  return v_at;
end
$$;
