-- Digest of who is paid by the details of an address, as core makes it: names, transfer types, zeros in front of an account number, and postal
-- addresses make no other payee, nor does the id in a muxed address of Stellar. A CLABE, of 18 digits, names its bank.
create or replace function {{schema}}.payee_of(p_details jsonb) returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  v_number text := p_details ->> 'accountNumber';
  v_payee text := 'chain ' || {{schema}}.stellar_account(p_details ->> 'address');
begin
  if v_number is not null then
    v_payee := concat('bank ', ltrim(v_number, '0'), ' ', case when length(v_number) <> 18 then p_details ->> 'routingNumber' end);
  end if;
  return encode(sha256(convert_to(to_json(v_payee)::text, 'UTF8')), 'hex');
end
$$;
