-- Adds to what is used here what limits on sums have counted of transfers that arrive, before these can be sent. It locks in the order of the key, as claims do. The sum of
-- a payee has another name in each database, so what comes is counted under that of this one.
create or replace function {{schema}}.move_charges(p_ids text[]) returns void language plpgsql as $$
begin
  update {{schema}}.limit_charge c set scope = {{schema}}.limit_scope(l.per, t)
  from {{schema}}.sum_limit l, {{schema}}.moved_row m cross join lateral jsonb_populate_record(null::{{schema}}.transfer, m.content -> 0) t
  where c.transfer_id = any (p_ids) and l.counter = c.counter and 'counterparty' = any (l.per) and m.kind = 'transfer' and m.key = c.transfer_id;
  insert into {{schema}}.limit_use as u (counter, scope, began_at, until, used, address_id)
  select c.counter, c.scope, c.began_at, min(c.until), sum(c.amount), case when c.scope like '%"payee %' then (
    select m.content -> 0 #>> '{request,destination,addressId}' from {{schema}}.moved_row m where m.kind = 'transfer' and m.key = min(c.transfer_id)) end
  from {{schema}}.limit_charge c where c.transfer_id = any (p_ids) group by 1, 2, 3 order by 1, 2, 3
  on conflict (counter, scope, began_at) do update set used = u.used + excluded.used, address_id = coalesce(u.address_id, excluded.address_id);
end
$$;
