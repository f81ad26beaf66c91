-- The ids of the transfers of jobs, in the same order: what transfer_of_job() says of each, for very many of them. Before version 18, Postgres
-- plans a function in SQL for each transaction; this one keeps its plan.
create or replace function {{schema}}.transfers_of_jobs(p_jobs uuid[]) returns text[] language plpgsql immutable strict parallel safe
set plan_cache_mode = force_generic_plan as $$
begin
  return (select array_agg(t.id order by t.position) from (
    select d.position, encode(
      substr(p.pairs, (substring(d.bits from 1 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 11 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 21 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 31 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 41 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 51 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 61 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 71 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 81 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 91 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 101 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 111 for 10)::integer << 1) + 1, 2)
      || substr(p.pairs, (substring(d.bits from 121 for 10)::integer << 1) + 1, 2), 'escape') as id
    from (select {{schema}}.id_pairs() as pairs offset 0) p
    cross join (
      select B'00' || ('x' || replace(j.id::text, '-', ''))::bit(128) as bits, j.position
      from unnest(p_jobs) with ordinality as j (id, position) offset 0) d
    offset 0) t);
end
$$;
-- Earlier code called it.
drop function if exists {{schema}}.id_part(bigint);
