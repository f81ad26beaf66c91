-- The key under which something of an account is sent: a UUID of version 8, made of all that makes the host's key unique here. Each
-- part has its length before it, so no two lists of parts are one text; the digest is cut to 122 bits, which do not collide. Made
-- again from the same host's key it is the same, such as after the database was restored to a time before the first attempt.
create or replace function {{schema}}.submission_key(p_kind text, p_account_id text, p_key text) returns text
language plpgsql immutable strict parallel safe as $$
declare
  v_digest bytea := substr(sha256(convert_to(concat(
    octet_length(p_kind), ':', p_kind, octet_length(p_account_id), ':', p_account_id, octet_length(p_key), ':', p_key), 'UTF8')), 1, 16);
begin
  return encode(set_byte(set_byte(v_digest, 6, get_byte(v_digest, 6) & 15 | 128), 8, get_byte(v_digest, 8) & 63 | 128), 'hex')::uuid::text;
end
$$;
