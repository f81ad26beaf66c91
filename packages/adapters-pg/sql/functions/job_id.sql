-- The value of each digit is read from a table by its byte, since translate() takes fourteen times as long. It is computed for each transfer that waits wherever these
-- are compared with their jobs.
create or replace function {{schema}}.job_id(p_transfer_id text) returns uuid language plpgsql immutable strict parallel safe as $$
declare
  -- '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; of any other byte, its last five bits. The session may read a plain backslash as an escape.
  v_values constant bytea :=
    E'\\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f000102030405060708091a1b1c1d1e1f'
    '000a0b0c0d0e0f10110912130c14150f161718191a151b1c1d1e1f1b1c1d1e1f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
    '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
    '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';
  v_digits constant bytea := convert_to(rpad(p_transfer_id, 26, '0'), 'UTF8');
begin
  -- 130 bits, of which the first two are none of the id: 64, and 64.
  return encode(
    int8send((get_byte(v_values, get_byte(v_digits, 0))::bigint << 61) | (get_byte(v_values, get_byte(v_digits, 1))::bigint << 56) | (get_byte(v_values, get_byte(v_digits, 2))::bigint << 51)
      | (get_byte(v_values, get_byte(v_digits, 3))::bigint << 46) | (get_byte(v_values, get_byte(v_digits, 4))::bigint << 41) | (get_byte(v_values, get_byte(v_digits, 5))::bigint << 36)
      | (get_byte(v_values, get_byte(v_digits, 6))::bigint << 31) | (get_byte(v_values, get_byte(v_digits, 7))::bigint << 26) | (get_byte(v_values, get_byte(v_digits, 8))::bigint << 21)
      | (get_byte(v_values, get_byte(v_digits, 9))::bigint << 16) | (get_byte(v_values, get_byte(v_digits, 10))::bigint << 11) | (get_byte(v_values, get_byte(v_digits, 11))::bigint << 6)
      | (get_byte(v_values, get_byte(v_digits, 12))::bigint << 1) | (get_byte(v_values, get_byte(v_digits, 13))::bigint >> 4))
    || int8send((get_byte(v_values, get_byte(v_digits, 13))::bigint << 60) | (get_byte(v_values, get_byte(v_digits, 14))::bigint << 55) | (get_byte(v_values, get_byte(v_digits, 15))::bigint << 50)
      | (get_byte(v_values, get_byte(v_digits, 16))::bigint << 45) | (get_byte(v_values, get_byte(v_digits, 17))::bigint << 40) | (get_byte(v_values, get_byte(v_digits, 18))::bigint << 35)
      | (get_byte(v_values, get_byte(v_digits, 19))::bigint << 30) | (get_byte(v_values, get_byte(v_digits, 20))::bigint << 25) | (get_byte(v_values, get_byte(v_digits, 21))::bigint << 20)
      | (get_byte(v_values, get_byte(v_digits, 22))::bigint << 15) | (get_byte(v_values, get_byte(v_digits, 23))::bigint << 10) | (get_byte(v_values, get_byte(v_digits, 24))::bigint << 5)
      | (get_byte(v_values, get_byte(v_digits, 25))::bigint << 0)), 'hex')::uuid;
end
$$;
comment on function {{schema}}.job_id(text) is 'The id of a transfer''s job in the queue: the same 128 bits as a UUID.';
