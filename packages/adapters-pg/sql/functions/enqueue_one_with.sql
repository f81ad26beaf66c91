-- The same as enqueue_one_to, with what is stored beside the transfer: {"metadata": {…}}. Nothing of it is written when the key is in use.
create or replace function {{schema}}.enqueue_one_with(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text, p_beside jsonb
) returns text language plpgsql as $$
declare
  v_at text := {{schema}}.enqueue_one_to(p_id, p_job, p_account_id, p_key, p_fingerprint, p_request, p_notify, p_not_before, p_expires_at,
    p_environment, p_gateway);
begin
  if v_at is not null then
    insert into {{schema}}.transfer_metadata (transfer_id, name, value)
    select p_id, e.key, e.value from jsonb_each_text(p_beside -> 'metadata') as e (key, value);
  end if;
  return v_at;
end
$$;
