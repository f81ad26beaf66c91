-- What code that knows one gateway calls.
create or replace function {{schema}}.enqueue_one(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text
) returns text language plpgsql as $$
begin
  return {{schema}}.enqueue_one_to(p_id, p_job, p_account_id, p_key, p_fingerprint, p_request, p_notify, p_not_before, p_expires_at,
    p_environment, 'default');
end
$$;
