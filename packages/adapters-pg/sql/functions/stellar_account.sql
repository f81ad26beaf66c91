-- The account of a muxed address of Stellar, and any other text as it is: the key without the id, with the version and the checksum (CRC-16/XModem, least
-- octet first) of an account.
create or replace function {{schema}}.stellar_account(p_address text) returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  v_letters constant text := 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  v_bits bit varying := b'00110000';
  v_octet integer;
  v_sum integer := 0;
  v_account text := '';
begin
  if p_address is null or p_address !~ '^M[A-Z2-7]{68}$' then
    return p_address;
  end if;
  -- The version of one octet, the key of 32, and half of the next letter.
  v_bits := v_bits || substring((
    select string_agg((strpos(v_letters, substr(p_address, n, 1)) - 1)::bit(5)::text, '' order by n) from generate_series(1, 53) n
  )::bit varying from 9 for 256);
  for v_at in 0..32 loop
    v_octet := substring(v_bits from 1 + 8 * v_at for 8)::bit(8)::integer;
    v_sum := v_sum # (v_octet << 8);
    for v_bit in 1..8 loop
      v_sum := case when v_sum & 32768 <> 0 then ((v_sum << 1) # 4129) & 65535 else (v_sum << 1) & 65535 end;
    end loop;
  end loop;
  v_bits := v_bits || (v_sum & 255)::bit(8) || (v_sum >> 8)::bit(8);
  for v_at in 0..55 loop
    v_account := v_account || substr(v_letters, substring(v_bits from 1 + 5 * v_at for 5)::bit(5)::integer + 1, 1);
  end loop;
  return v_account;
end
$$;
