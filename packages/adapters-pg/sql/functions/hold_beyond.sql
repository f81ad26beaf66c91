-- Holds transfers beyond limits on sums, each by every limit beyond which it is, and says how much was used. The caller has locked them. A limit may have
-- been changed since it was read: its hold is written all the same, since a transfer that nothing holds would stay.
create or replace function {{schema}}.hold_beyond(
  p_ids text[], p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[], p_left numeric[]
) returns void language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with held as (
    update {{schema}}.transfer t
    set stage = 'held', reason = 'limit', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = any (p_ids)
    returning t.id, t.event_sequence
  )
  select array_agg(h.id), array_agg(h.event_sequence) into v_ids, v_sequences from held h;
  insert into {{schema}}.hold (transfer_id, name, policy, policy_version, why, counter, scope, amount, excess)
  select n.id, 'limit', coalesce(l.name, regexp_replace(n.counter, ' \S+ \S+$', '')), l.version,
    case when l.name is null then 'The limit has been changed since, so it goes by itself.' else format('The limit %s is %s %s a %s%s: %s of it are used, and this is %s. %s', l.name, trim_scale(l.most), l.currency, l.span,
      (select coalesce(' for the ' || string_agg(e.key || ' ' || e.value, ' and the ' order by e.key), '') from jsonb_each_text(n.scope::jsonb) e),
      trim_scale(l.most - n.remaining), trim_scale(n.amount),
      case when n.amount <= l.most then 'It goes when it fits: from ' || {{schema}}.iso(n.until) || ' on, or earlier where others do not go.'
        else 'It is more than the limit alone, so it waits for somebody who releases it.' end) end,
    n.counter, n.scope, n.amount,
    case when l.name is not null then jsonb_build_object('limit', l.name, 'currency', l.currency, 'most', trim_scale(l.most)::text, 'used', trim_scale(l.most - n.remaining)::text,
      'amount', trim_scale(n.amount)::text, 'span', l.span, 'zone', l.zone, 'of', n.scope::jsonb, 'from', {{schema}}.iso(n.began_at),
      'until', {{schema}}.iso(n.until), 'fitsAt', case when n.amount <= l.most then {{schema}}.iso(n.until) end) end
  from (
    select o.*, (t.request #>> '{amount,value}')::numeric as amount
    from unnest(p_ids, p_counters, p_scopes, p_began_at, p_until, p_left) as o (id, counter, scope, began_at, until, remaining)
    join {{schema}}.transfer t on t.id = o.id
  ) n
  left join {{schema}}.sum_limit l on l.counter = n.counter
  on conflict do nothing;
  delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  perform {{schema}}.queue_remove(array(select {{schema}}.job_id(i.id) from unnest(v_ids) as i (id)));
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.held'::text, array[cardinality(v_ids)]));
end
$$;
