-- How much of a limit is left now, of one of its sums; null where there is no such limit any more.
create or replace function {{schema}}.limit_left(p_counter text, p_scope text) returns numeric language sql volatile as $$
  select l.most - coalesce((
    select u.used from {{schema}}.limit_use u
    where u.counter = l.counter and u.scope = p_scope
      and u.began_at = (select w.began_at from {{schema}}.limit_window(l.span, l.zone, clock_timestamp()) w)), 0)
  from {{schema}}.sum_limit l where l.counter = p_counter
$$;
