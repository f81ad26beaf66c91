-- Counts one part again of which a transaction has ended that ran when it was counted. What has run for two days is waited for no longer. False when there is none.
create or replace function {{schema}}.recount_part(p_now timestamptz) returns boolean language plpgsql as $$
declare
  v_open record;
begin
  select o.began_at, r.running into v_open
  from {{schema}}.transfer_count_open o cross join lateral (
    select coalesce(array_agg(x.id), '{}') as running from pg_snapshot_xip(pg_current_snapshot()) as x (id)
    where x.id = any (o.transactions) and o.began_at > p_now - interval '48 hours') r
  where cardinality(r.running) < cardinality(o.transactions)
  order by o.began_at limit 1;
  if not found then
    return false;
  end if;
  if cardinality(v_open.running) = 0 then
    delete from {{schema}}.transfer_count_open o where o.began_at = v_open.began_at;
  else
    update {{schema}}.transfer_count_open o set transactions = v_open.running where o.began_at = v_open.began_at;
  end if;
  perform {{schema}}.count_part(v_open.began_at);
  return true;
end
$$;
