-- The next sums behind one for which something is held, at most so many, in their order. It steps from one to the next, since very many may be held.
create or replace function {{schema}}.held_sums(p_counter text, p_scope text, p_sums integer)
returns table (counter text, scope text) language sql stable as $$
  with recursive walk as (
    (select h.counter, h.scope from {{schema}}.hold h
      where h.counter is not null and (h.counter, h.scope) > (p_counter, p_scope) order by h.counter, h.scope limit 1)
    union all
    select n.counter, n.scope from walk w cross join lateral (
      select h.counter, h.scope from {{schema}}.hold h
      where h.counter is not null and (h.counter, h.scope) > (w.counter, w.scope) order by h.counter, h.scope limit 1) n
  )
  select w.counter, w.scope from walk w limit p_sums
$$;
