-- A new ULID of a time: ten digits of its milliseconds and sixteen random ones.
create or replace function {{schema}}.ulid_at(p_time timestamptz) returns text language sql volatile as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', d.digit + 1, 1), '' order by d.place)
    from (
      select p.place,
             case when p.place < 10 then (floor(extract(epoch from p_time) * 1000)::bigint >> (45 - 5 * p.place)) & 31
                  else floor(random() * 32)::bigint end::integer as digit
        from generate_series(0, 25) as p(place)
    ) d
$$;
