-- Registers an account as its client's own. Before, no client can see it, not even this one.
create or replace function {{schema}}.account_register(p_account jsonb, p_client_id text) returns setof {{schema}}.account
language plpgsql as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
begin
  perform set_config('outlay.system', 'on', true);
  return query insert into {{schema}}.account
    select * from jsonb_populate_record(null::{{schema}}.account, p_account) returning *;
  insert into {{schema}}.client_account (client_id, account_id, created_at)
  values (p_client_id, p_account ->> 'id', (p_account ->> 'created_at')::timestamptz);
  perform set_config('outlay.system', v_before, true);
end
$$;
