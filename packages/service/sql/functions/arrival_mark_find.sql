-- Marks of incoming wires, as `arrival_mark_claim` takes them, with the other transfer that has each. `is_foreign`: it has one. `is_reused`: a mark of its
-- fact is foreign. Marks are in upper case, also those of a process of an earlier release.
create or replace function {{schema}}.arrival_mark_find(p_marks jsonb) returns table (
  fact_id text, rail text, kind text, mark text, transfer_id text, is_accepted boolean, is_compared boolean, owner text, is_foreign boolean, is_reused boolean
) language sql stable
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select g.fact_id, g.rail, g.kind, upper(g.mark), g.transfer_id, g.is_accepted, g.is_compared, m.owner, m.owner is not null,
         bool_or(m.owner is not null) over (partition by g.fact_id)
    from jsonb_to_recordset(p_marks) as g(
      fact_id text, rail text, kind text, mark text, transfer_id text, is_accepted boolean, is_compared boolean
    )
    left join lateral (
      select o.transfer_id as owner from {{schema}}.arrival_mark o
       where o.rail = g.rail and o.kind = g.kind and o.mark = upper(g.mark) and o.transfer_id <> g.transfer_id
      offset 0
    ) m on true
$$;
