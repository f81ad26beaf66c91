create or replace function {{schema}}.job_id(p_transfer_id text) returns uuid language sql immutable strict parallel safe as $$
  select string_agg(lpad(to_hex(d.value), case d.part when 0 then 2 else 10 end, '0'), '' order by d.part)::uuid
  from (
    select (n + 5) / 8 as part,
      sum((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(p_transfer_id, n, 1)) - 1)::bigint << (5 * (7 - (n + 5) % 8)))::bigint as value
    from generate_series(1, 26) as n group by 1
  ) d
$$;
comment on function {{schema}}.job_id(text) is 'The id of a transfer''s job in the queue: the same 128 bits as a UUID.';
