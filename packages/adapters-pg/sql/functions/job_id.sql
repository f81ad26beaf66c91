-- Each digit becomes a byte whose last five bits are its value. It is computed for each transfer that waits wherever these are compared with their jobs.
create or replace function {{schema}}.job_id(p_transfer_id text) returns uuid language plpgsql immutable strict parallel safe as $$
declare
  v_digits constant bytea :=
    convert_to(translate(rpad(p_transfer_id, 26, '0'), '0123456789ABCDEFGHJKMNPQRSTVWXYZ', '@abcdefghijklmnopqrstuvwxyz{|}~_'), 'UTF8');
begin
  return (lpad(to_hex(((get_byte(v_digits, 0) & 31) << 5) | (get_byte(v_digits, 1) & 31)), 2, '0')
    || lpad(to_hex(((get_byte(v_digits, 2) & 31)::bigint << 35) | ((get_byte(v_digits, 3) & 31)::bigint << 30) | ((get_byte(v_digits, 4) & 31)::bigint << 25)
      | ((get_byte(v_digits, 5) & 31)::bigint << 20) | ((get_byte(v_digits, 6) & 31)::bigint << 15) | ((get_byte(v_digits, 7) & 31)::bigint << 10)
      | ((get_byte(v_digits, 8) & 31)::bigint << 5) | ((get_byte(v_digits, 9) & 31)::bigint << 0)), 10, '0')
    || lpad(to_hex(((get_byte(v_digits, 10) & 31)::bigint << 35) | ((get_byte(v_digits, 11) & 31)::bigint << 30) | ((get_byte(v_digits, 12) & 31)::bigint << 25)
      | ((get_byte(v_digits, 13) & 31)::bigint << 20) | ((get_byte(v_digits, 14) & 31)::bigint << 15) | ((get_byte(v_digits, 15) & 31)::bigint << 10)
      | ((get_byte(v_digits, 16) & 31)::bigint << 5) | ((get_byte(v_digits, 17) & 31)::bigint << 0)), 10, '0')
    || lpad(to_hex(((get_byte(v_digits, 18) & 31)::bigint << 35) | ((get_byte(v_digits, 19) & 31)::bigint << 30) | ((get_byte(v_digits, 20) & 31)::bigint << 25)
      | ((get_byte(v_digits, 21) & 31)::bigint << 20) | ((get_byte(v_digits, 22) & 31)::bigint << 15) | ((get_byte(v_digits, 23) & 31)::bigint << 10)
      | ((get_byte(v_digits, 24) & 31)::bigint << 5) | ((get_byte(v_digits, 25) & 31)::bigint << 0)), 10, '0'))::uuid;
end
$$;
comment on function {{schema}}.job_id(text) is 'The id of a transfer''s job in the queue: the same 128 bits as a UUID.';
