create or replace view {{schema}}.limit_uses as
select l.name, l.currency, l.span, l.zone, u.scope::jsonb as sum_of, u.used, l.most, l.most - u.used as remaining, u.began_at, u.until,
  (select count(*)::integer from {{schema}}.hold h where h.counter = u.counter and h.scope = u.scope) as held
from {{schema}}.sum_limit l
cross join lateral {{schema}}.limit_window(l.span, l.zone, clock_timestamp()) w
join {{schema}}.limit_use u on u.counter = l.counter and u.began_at = w.began_at;
comment on view {{schema}}.limit_uses is 'How much of the limits on sums is used in this hour, day or month, and how many transfers wait for more.';
