-- Eight characters of an id, for forty bits.
create or replace function {{schema}}.id_part(p_bits bigint) returns text language sql immutable strict parallel safe as $$
  select
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 35 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 30 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 25 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 20 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 15 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 10 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 5 & 31)::integer + 1, 1) ||
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_bits >> 0 & 31)::integer + 1, 1)
$$;
