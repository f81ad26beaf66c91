-- Writes whose money incoming wires are, {fact_id, rail, kind, mark, transfer_id, is_accepted, is_compared} each, and returns the marks that are foreign. A
-- fact with such a mark gets none of the others, unless a person accepts it: then it gets all of them, since one wire is credited once. What is compared
-- alone gets none. A mark is that of the first one, and waits for others that write the same; all in one order, so that nobody deadlocks. The answer is
-- read anew, since a wait may have been for another transfer. Who moves marks of a transfer has locked it; those that are a deposit's are locked here.
create or replace function {{schema}}.arrival_mark_claim(p_marks jsonb) returns table (fact_id text, kind text, mark text, owner text) language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
  perform from {{schema}}.arrival_mark_find(p_marks) f
    join {{schema}}.arrival_mark m on m.rail = f.rail and m.kind = f.kind and m.mark = f.mark
   where f.is_accepted
   order by m.rail, m.kind, m.mark
     for no key update of m;
  insert into {{schema}}.arrival_mark (rail, kind, mark, transfer_id)
  select f.rail, f.kind, f.mark, f.transfer_id
    from {{schema}}.arrival_mark_find(p_marks) f
   where f.owner is null and f.is_compared is not true and (f.is_accepted or not f.is_reused)
   order by f.rail, f.kind, f.mark
      on conflict do nothing;
  return query select f.fact_id, f.kind, f.mark, f.owner from {{schema}}.arrival_mark_find(p_marks) f where f.is_foreign;
  update {{schema}}.arrival_mark m set transfer_id = f.transfer_id
    from {{schema}}.arrival_mark_find(p_marks) f
   where f.is_accepted and f.is_compared is not true and f.is_foreign
     and m.rail = f.rail and m.kind = f.kind and m.mark = f.mark;
end
$$;
