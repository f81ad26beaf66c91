-- Who created the transfers in whose place one of an account was resubmitted, in the order of their names; null where nobody is known. While the account moves, some of those
-- are packed. It has the rights of its owner: whoever enqueues may not read what is on its way.
create or replace function {{schema}}.earlier_creators(p_id text, p_account_id text) returns text[] language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
begin
  return (
    with recursive earlier (id) as (
      select p_id collate "C"
      union
      select x.id from earlier e cross join lateral (
        select r.transfer_id from {{schema}}.resubmission r where r.successor_id = e.id
        union all
        select m.key from {{schema}}.moved_row m
        where m.account_id = p_account_id and m.kind = 'resubmission' and m.content #>> '{0,successor_id}' = e.id
      ) x (id)
    )
    select array_agg(distinct x.created_by order by x.created_by) from earlier e cross join lateral (
      select c.created_by from {{schema}}.transfer_creator c where c.transfer_id = e.id
      union all
      select m.content #>> '{0,created_by}' from {{schema}}.moved_row m
      where m.account_id = p_account_id and m.kind = 'transfer_creator' and m.key = e.id
    ) x
    where e.id <> p_id);
end
$$;
