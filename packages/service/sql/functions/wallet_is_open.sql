-- Whether a wallet of this service, of any account, can receive money: it is active, and its account is complete.
create or replace function {{schema}}.wallet_is_open(p_account_id text, p_address_id text) returns boolean
language plpgsql stable strict as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
  v_open boolean;
begin
  perform set_config('outlay.system', 'on', true);
  v_open := exists (
    select from {{schema}}.address a
      join {{schema}}.account o on o.id = a.account_id
     where a.id = p_address_id and a.account_id = p_account_id and a.type = 'internal'
       and a.status = 'active' and o.status = 'complete'
  );
  perform set_config('outlay.system', v_before, true);
  return v_open;
end
$$;
