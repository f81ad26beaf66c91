-- Writes whose money incoming wires are, {fact_id, rail, kind, mark, transfer_id, position} each, and returns the marks that another transfer has. One with
-- such a mark gets none of the others. A mark is that of the first one, and waits for others that write the same; all in one order, so that nobody
-- deadlocks. The answer is read anew, since a wait may have been for another transfer.
create or replace function {{schema}}.arrival_mark_claim(p_marks jsonb) returns table (fact_id text, kind text, mark text, owner text) language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
  insert into {{schema}}.arrival_mark (rail, kind, mark, transfer_id)
  select n.rail, n.kind, n.mark, n.transfer_id
    from (
      select distinct on (g.rail, g.kind, g.mark) g.*
        from jsonb_to_recordset(p_marks) as g(fact_id text, rail text, kind text, mark text, transfer_id text, position integer)
       where not exists (
         select from jsonb_to_recordset(p_marks) as o(fact_id text, rail text, kind text, mark text, transfer_id text)
          where o.fact_id = g.fact_id and exists (
            select from {{schema}}.arrival_mark m
             where m.rail = o.rail and m.kind = o.kind and m.mark = o.mark and m.transfer_id <> o.transfer_id
          )
       )
       order by g.rail, g.kind, g.mark, g.position
    ) n
   order by n.rail, n.kind, n.mark
      on conflict do nothing;
  return query
    select g.fact_id, g.kind, g.mark, m.transfer_id
      from jsonb_to_recordset(p_marks) as g(fact_id text, rail text, kind text, mark text, transfer_id text)
     cross join lateral (
       select o.transfer_id from {{schema}}.arrival_mark o
        where o.rail = g.rail and o.kind = g.kind and o.mark = g.mark and o.transfer_id <> g.transfer_id
       offset 0
     ) m;
end
$$;
