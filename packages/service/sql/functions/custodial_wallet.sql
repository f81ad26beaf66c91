-- The wallet of this service at an address on a chain, of any account; none for the address null.
create or replace function {{schema}}.custodial_wallet(p_environment text, p_address_normal text, p_transfer_type text)
returns table (account_id text, address_id text) language plpgsql stable strict rows 1 as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
begin
  perform set_config('outlay.system', 'on', true);
  return query select a.account_id, a.id
    from {{schema}}.address a
   where a.type = 'internal' and a.environment = p_environment and a.address_normal = p_address_normal
     and p_transfer_type = any (a.transfer_types);
  perform set_config('outlay.system', v_before, true);
end
$$;
