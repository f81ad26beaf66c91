-- All pairs of two digits of an id, in the order of the ten bits that each stands for. A plan that is kept computes it once.
create or replace function {{schema}}.id_pairs() returns bytea language sql immutable parallel safe as $$
  select convert_to(string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', n / 32 + 1, 1) || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', n % 32 + 1, 1), '' order by n), 'UTF8')
  from generate_series(0, 1023) as n
$$;
