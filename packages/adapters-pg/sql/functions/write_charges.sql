-- Writes what transfers use of limits on sums, in the same order as what they need. The caller has locked what is used.
create or replace function {{schema}}.write_charges(
  p_ids text[], p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[], p_amounts numeric[]
) returns void language plpgsql as $$
begin
  insert into {{schema}}.limit_charge as c (transfer_id, counter, scope, began_at, until, amount)
  select n.id, n.counter, n.scope, n.began_at, n.until, n.amount
  from unnest(p_ids, p_counters, p_scopes, p_began_at, p_until, p_amounts) as n (id, counter, scope, began_at, until, amount)
  -- What is less than nothing leaves its earlier span.
  where n.amount > 0
  on conflict (transfer_id, counter) do update
  set scope = excluded.scope, began_at = excluded.began_at, until = excluded.until, amount = excluded.amount;
  update {{schema}}.limit_use u set used = u.used + s.amount, address_id = coalesce(u.address_id, s.address_id)
  from (
    select n.counter, n.scope, n.began_at, sum(n.amount) as amount, case when n.scope like '%"payee %' then (
      select t.request #>> '{destination,addressId}' from {{schema}}.transfer t where t.id = min(n.id)) end as address_id
    from unnest(p_ids, p_counters, p_scopes, p_began_at, p_amounts) as n (id, counter, scope, began_at, amount) group by 1, 2, 3
  ) s
  where u.counter = s.counter and u.scope = s.scope and u.began_at = s.began_at;
end
$$;
