-- Compares holds by sums with the limits as they are now. What a limit does not count any more is not held by its sum, and goes; another list of currencies
-- can make an amount known. A hold that somebody ends just now is skipped: nobody waits for them here. It has the rights of its owner: nobody else changes
-- what a hold asks for. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.compare_sum_holds() returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update {{schema}}.hold h
  set counter = case when c.covers then h.counter else h.counter || ' gone' end, amount = case when c.covers then c.amount else h.amount end
  from (
    select o.transfer_id, o.name, o.policy, {{schema}}.limit_covers(l, t) as covers, {{schema}}.limit_amount(l, t) as amount
    from {{schema}}.hold o
    join {{schema}}.sum_limit l on l.counter = o.counter
    join {{schema}}.transfer t on t.id = o.transfer_id
    for no key update of o skip locked) c
  where h.transfer_id = c.transfer_id and h.name = c.name and h.policy = c.policy and (not c.covers or h.amount <> c.amount);
end
$$;
