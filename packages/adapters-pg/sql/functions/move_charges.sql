-- Adds what limits on sums have counted of transfers to what is used here, or takes it away where they leave: `p_sign` is 1 or -1. It locks in the order of the
-- key, as claims do, and adds up behind the locks: whoever gives something back has them, too. The sum of a payee has another name in each database, so what
-- comes is counted under that of this one, and so is what such a sum holds.
create or replace function {{schema}}.move_charges(p_ids text[], p_sign integer) returns void language plpgsql as $$
begin
  if p_sign > 0 then
    update {{schema}}.limit_charge c set scope = {{schema}}.limit_scope(l.per, t)
    from {{schema}}.sum_limit l, {{schema}}.transfer t
    where c.transfer_id = any (p_ids) and l.counter = c.counter and 'counterparty' = any (l.per) and t.id = c.transfer_id;
    update {{schema}}.hold h set scope = {{schema}}.limit_scope(l.per, t)
    from {{schema}}.sum_limit l, {{schema}}.transfer t
    where h.transfer_id = any (p_ids) and l.counter = h.counter and 'counterparty' = any (l.per) and t.id = h.transfer_id;
    insert into {{schema}}.limit_use (counter, scope, began_at, until)
    select c.counter, c.scope, c.began_at, min(c.until) from {{schema}}.limit_charge c where c.transfer_id = any (p_ids)
    group by 1, 2, 3 order by 1, 2, 3 on conflict do nothing;
  end if;
  perform from (
    select distinct c.counter, c.scope, c.began_at from {{schema}}.limit_charge c where c.transfer_id = any (p_ids)
  ) k
  join {{schema}}.limit_use u on u.counter = k.counter and u.scope = k.scope and u.began_at = k.began_at
  order by u.counter, u.scope, u.began_at for update of u;
  if not found then
    return;
  end if;
  update {{schema}}.limit_use u set used = u.used + p_sign * s.amount, address_id = coalesce(u.address_id, s.address_id)
  from (
    select c.counter, c.scope, c.began_at, sum(c.amount) as amount, case when c.scope like '%"payee %' then (
      select t.request #>> '{destination,addressId}' from {{schema}}.transfer t where t.id = min(c.transfer_id)) end as address_id
    from {{schema}}.limit_charge c where c.transfer_id = any (p_ids) group by 1, 2, 3
  ) s
  where u.counter = s.counter and u.scope = s.scope and u.began_at = s.began_at;
end
$$;
