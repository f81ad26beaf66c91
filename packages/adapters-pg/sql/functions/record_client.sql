-- Records the client that a claimed transfer is about to be sent as. Returns false when the claim is not the current one, when the
-- transfer is locked, which is not waited for, or when another client sent it and the outcome of that is unknown.
create or replace function {{schema}}.record_client(p_id text, p_attempt integer, p_client text) returns boolean language plpgsql as $$
declare
  v_account_id text;
begin
  select {{schema}}.gateway_account(t.gateway, t.account_id) into v_account_id from {{schema}}.transfer t
  where t.id = p_id and t.attempt = p_attempt and t.stage = 'submitting' and (t.client is null or t.unknown_since is null)
  for no key update skip locked;
  if not found then
    return false;
  end if;
  update {{schema}}.transfer t set client = p_client where t.id = p_id;
  insert into {{schema}}.account_client as a (account_id, client) values (v_account_id, p_client)
  on conflict (account_id) do update set client = excluded.client where a.client <> excluded.client;
  return true;
end
$$;
