create or replace view {{schema}}.limit_uses as
select l.name, l.currency, l.span, l.zone, {{schema}}.limit_of(s.scope, coalesce(u.address_id, h.address_id)) as sum_of, coalesce(u.used, 0) as used, l.most, l.most - coalesce(u.used, 0) as remaining,
  w.began_at, w.until, h.held, h.too_large
from {{schema}}.sum_limit l
cross join lateral {{schema}}.limit_window(l.span, l.zone, clock_timestamp()) w
cross join lateral (
  select n.scope from {{schema}}.limit_use n where n.counter = l.counter and n.began_at = w.began_at
  union select n.scope from {{schema}}.hold n where n.counter = l.counter
) s
left join {{schema}}.limit_use u on u.counter = l.counter and u.scope = s.scope and u.began_at = w.began_at
cross join lateral (
  select count(*)::integer as held, (count(*) filter (where n.amount > l.most))::integer as too_large,
    min(n.excess #>> '{of,counterparty}') as address_id
  from {{schema}}.hold n where n.counter = l.counter and n.scope = s.scope
) h;
comment on view {{schema}}.limit_uses is 'How much of the limits on sums is used in this hour, day or month, and how many transfers wait for more.';
comment on column {{schema}}.limit_uses.too_large is 'Held transfers that are more than the limit alone, or of an amount that is not known in its currency: they wait for somebody who releases them.';
