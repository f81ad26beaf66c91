-- Releases transfers that limits on sums hold and that fit now, of the next sums behind one: their span is over, others were given back, or the limit
-- is another one. The claim counts them, and holds again what does not fit after all. Returns these sums, and how many were released.
--
-- It locks transfers alone, and skips those that others have locked. Of each sum it reads the smallest ones, so that large ones that do not fit
-- cost nothing, and lets the oldest of them go. The plans are held to indexes: very many may be held.
create or replace function {{schema}}.release_fitting(p_counter text, p_scope text, p_sums integer, p_limit integer)
returns table (counter text, scope text, released integer) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_sum record;
  v_left numeric;
  v_ids text[];
  v_id text;
begin
  for v_sum in
    with recursive walk as (
      (select h.counter, h.scope from {{schema}}.hold h
        where h.counter is not null and (h.counter, h.scope) > (p_counter, p_scope) order by h.counter, h.scope limit 1)
      union all
      select n.counter, n.scope from walk w cross join lateral (
        select h.counter, h.scope from {{schema}}.hold h
        where h.counter is not null and (h.counter, h.scope) > (w.counter, w.scope) order by h.counter, h.scope limit 1) n
    )
    select w.counter, w.scope from walk w limit p_sums
  loop
    counter := v_sum.counter;
    scope := v_sum.scope;
    released := 0;
    v_left := {{schema}}.limit_left(v_sum.counter, v_sum.scope);
    v_ids := array(
      select c.transfer_id from (
        select s.transfer_id, sum(s.amount) over (order by s.transfer_id) as total from (
          select h.transfer_id, h.amount from {{schema}}.hold h
          where h.counter = v_sum.counter and h.scope = v_sum.scope and h.amount <= coalesce(v_left, 'infinity')
          order by h.amount, h.transfer_id limit p_limit
        ) s
      ) c where c.total <= coalesce(v_left, 'infinity'));
    v_ids := array(
      select t.id from {{schema}}.transfer t
      where t.id = any (v_ids) and t.stage = 'held' and not exists (
        select from {{schema}}.hold h
        where h.transfer_id = t.id and h.counter is not null and h.amount > {{schema}}.limit_left(h.counter, h.scope))
      order by t.id for no key update skip locked);
    foreach v_id in array v_ids loop
      -- Whoever had it locked before may have ended these holds.
      delete from {{schema}}.hold h where h.transfer_id = v_id and h.counter is not null;
      if found and {{schema}}.release_holds(v_id, {{schema}}.job_id(v_id), '[]', false) then
        released := released + 1;
      end if;
    end loop;
    return next;
  end loop;
end
$$;
