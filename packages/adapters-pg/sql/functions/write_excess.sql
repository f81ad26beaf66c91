-- Writes by which limits on sums transfers are held, each by every limit beyond which it is, and how much was used. A limit may have been changed since it was
-- read: its hold is written all the same, since a transfer that nothing holds would stay.
create or replace function {{schema}}.write_excess(
  p_ids text[], p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[], p_left numeric[]
) returns void language plpgsql as $$
begin
  insert into {{schema}}.hold (transfer_id, name, policy, policy_version, why, counter, scope, amount, excess)
  select n.id, 'limit', coalesce(l.name, regexp_replace(n.counter, ' \S+ \S+$', '')), l.version,
    case when l.name is null then 'The limit has been changed since, so it goes by itself.' else format('The limit %s is %s %s a %s%s: %s of it are used, and this is %s. %s', l.name, trim_scale(l.most), l.currency, l.span,
      (select coalesce(' for the ' || string_agg(e.key || ' ' || e.value, ' and the ' order by e.key), '') from jsonb_each_text(n.sum_of) e),
      trim_scale(l.most - n.remaining), case when n.amount = 'Infinity' then 'stated in ' || n.currency || n.by_quote else trim_scale(n.amount)::text end,
      case when n.amount = 'Infinity' then 'What it is in ' || l.currency || ' is not known before it leaves, so it waits for somebody who releases it.'
        when n.amount <= l.most then 'It goes when it fits: from ' || {{schema}}.iso(n.until) || ' on, or earlier where others do not go.'
        else 'It is more than the limit alone, so it waits for somebody who releases it.' end) end,
    n.counter, n.scope, n.amount,
    case when l.name is not null then jsonb_build_object('limit', l.name, 'currency', l.currency, 'most', trim_scale(l.most)::text, 'used', trim_scale(l.most - n.remaining)::text,
      'amount', case when n.amount <> 'Infinity' then trim_scale(n.amount)::text end, 'span', l.span, 'zone', l.zone, 'of', n.sum_of, 'from', {{schema}}.iso(n.began_at),
      'until', {{schema}}.iso(n.until), 'fitsAt', case when n.amount <= l.most then {{schema}}.iso(n.until) end) end
  from (
    select o.*, {{schema}}.limit_of(o.scope, t.request #>> '{destination,addressId}') as sum_of, t.request #>> '{amount,currency}' as currency,
      case when t.request ->> 'quoteId' is null then '' else ' with a quote' end as by_quote,
      case when s.counter is null then (t.request #>> '{amount,value}')::numeric else {{schema}}.limit_amount(s, t) end as amount
    from unnest(p_ids, p_counters, p_scopes, p_began_at, p_until, p_left) as o (id, counter, scope, began_at, until, remaining)
    join {{schema}}.transfer t on t.id = o.id
    left join {{schema}}.sum_limit s on s.counter = o.counter
  ) n
  left join {{schema}}.sum_limit l on l.counter = n.counter
  on conflict do nothing;
end
$$;
