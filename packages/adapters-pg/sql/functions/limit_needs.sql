-- What of limits on sums transfers need that are about to be claimed, or released: the sums by their places, in the order of the key, and what each transfer needs of
-- them. That is less than nothing where it was counted in an earlier span and moves to this one. Null where they need nothing.
--
-- One whose outcome is unknown needs nothing. To register a counterparty moves no money, and needs nothing.
create or replace function {{schema}}.limit_needs(
  p_ids text[], p_without text[], p_at timestamptz, out counters text[], out scopes text[], out began_at timestamptz[], out until timestamptz[],
  out ids text[], out places integer[], out amounts numeric[], out passes boolean[]
) language plpgsql as $$
#variable_conflict use_column
begin
  with wanted as materialized (
    select t.id, l.counter, {{schema}}.limit_scope(l.per, t) as scope, w.began_at, w.until, p.passes,
      -- What a person lets go of unknown amount cannot be counted.
      case when p.passes and a.amount = 'Infinity' then 0 else a.amount end as amount
    from {{schema}}.transfer t
    join {{schema}}.sum_limit l on {{schema}}.limit_covers(l, t)
    cross join lateral {{schema}}.limit_window(l.span, l.zone, p_at) w
    cross join lateral (select {{schema}}.limit_amount(l, t) as amount) a
    cross join lateral (select exists (select from {{schema}}.limit_pass p where p.transfer_id = t.id and p.name = l.name) as passes) p
    where t.id = any (p_ids) and t.id <> all (p_without) and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds')
      and t.request #> '{destination,addressId}' is not null
      and (t.attempt = 0 and t.unknown_since is null and t.reason is null or {{schema}}.effect_of(t) = 'none')
      and not exists (
        select from {{schema}}.limit_charge c where c.transfer_id = t.id and c.counter = l.counter and c.began_at = w.began_at)
  ), needed as materialized (
    select w.id, w.counter, w.scope, w.began_at, w.until, w.amount, w.passes from wanted w
    union all
    select c.transfer_id, c.counter, c.scope, c.began_at, c.until, -c.amount, true
    from wanted w join {{schema}}.limit_charge c on c.transfer_id = w.id and c.counter = w.counter and w.amount > 0
  ), sums as materialized (
    select s.*, (row_number() over (order by s.counter, s.scope, s.began_at))::integer as place
    from (select n.counter, n.scope collate "C" as scope, n.began_at, min(n.until) as until from needed n group by 1, 2, 3) s
  )
  select (select array_agg(s.counter order by s.place) from sums s), (select array_agg(s.scope order by s.place) from sums s),
    (select array_agg(s.began_at order by s.place) from sums s), (select array_agg(s.until order by s.place) from sums s),
    array_agg(n.id), array_agg(s.place), array_agg(n.amount), array_agg(n.passes)
  into counters, scopes, began_at, until, ids, places, amounts, passes
  from needed n join sums s on s.counter = n.counter and s.scope = n.scope and s.began_at = n.began_at;
end
$$;
