-- The oldest of the transfers that one sum holds and that fit together into what is left of it; null is left where it has no limit any more. It reads the smallest
-- ones, so that large ones that do not fit cost nothing, and those alone that may be released. Where none of the first few hundred may, it goes on at a random
-- place behind them, another one each time: so many of a paused account do not hold up the others.
--
-- It locks what it counts, fifty at most, and skips what others have locked, what was tried before (`p_without`), and what needs a sum that is busy: none of them
-- takes the place of one that can go.
create or replace function {{schema}}.fitting_holds(
  p_counter text, p_scope text, p_left numeric, p_limit integer, p_without text[], p_busy_counters text[], p_busy_scopes text[]
) returns text[] language plpgsql as $$
declare
  v_most numeric := coalesce(p_left, 'infinity');
  v_window constant integer := 500;
  v_skipped integer := 0;
  v_ids text[];
  v_amounts numeric[];
  v_read integer;
  v_one record;
begin
  for v_round in 1 .. 2 loop
    v_ids := '{}';
    v_amounts := '{}';
    v_read := 0;
    for v_one in
      select h.transfer_id, h.amount from {{schema}}.hold h
      where h.counter = p_counter and h.scope = p_scope and h.amount <= v_most
      order by h.amount, h.transfer_id offset v_skipped limit v_window
    loop
      exit when cardinality(v_ids) >= p_limit;
      v_read := v_read + 1;
      continue when v_one.transfer_id = any (p_without);
      perform from {{schema}}.transfer t
      where t.id = v_one.transfer_id and t.stage = 'held' and {{schema}}.may_release(t.id) and not exists (
        select from unnest(p_busy_counters, p_busy_scopes) as b (counter, scope)
        join {{schema}}.sum_limit l on l.counter = b.counter
        where {{schema}}.limit_covers(l, t) and {{schema}}.limit_scope(l.per, t) = b.scope)
      for no key update of t skip locked;
      if found then
        v_ids := v_ids || v_one.transfer_id;
        v_amounts := v_amounts || v_one.amount;
      end if;
    end loop;
    exit when cardinality(v_ids) > 0 or v_read < v_window;
    v_skipped := v_window + floor(random() * (
      select count(*) from {{schema}}.hold h where h.counter = p_counter and h.scope = p_scope and h.amount <= v_most));
  end loop;
  return array(
    select c.id from (
      select f.id, sum(f.amount) over (order by f.id collate "C") as total from unnest(v_ids, v_amounts) as f (id, amount)) c
    where c.total <= v_most order by c.id collate "C");
end
$$;
