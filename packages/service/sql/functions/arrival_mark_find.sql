-- Marks of incoming wires, as `arrival_mark_claim` takes them, with the other transfer that has each. `is_foreign`: it has one, which no person has accepted
-- with a mark of the same fact. `is_reused`: a mark of its fact is foreign.
create or replace function {{schema}}.arrival_mark_find(p_marks jsonb) returns table (
  fact_id text, rail text, kind text, mark text, transfer_id text, is_accepted boolean, is_compared boolean, owner text, is_foreign boolean, is_reused boolean
) language sql stable
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  select n.fact_id, n.rail, n.kind, n.mark, n.transfer_id, n.is_accepted, n.is_compared, n.owner, n.is_foreign,
         bool_or(n.is_foreign) over (partition by n.fact_id)
    from (
      select g.*, m.owner,
             m.owner is not null
               and coalesce(m.owner <> all (array_agg(m.owner) filter (where g.is_own) over (partition by g.fact_id)), true) as is_foreign
        from jsonb_to_recordset(p_marks) as g(
          fact_id text, rail text, kind text, mark text, transfer_id text, is_own boolean, is_accepted boolean, is_compared boolean
        )
        left join lateral (
          select o.transfer_id as owner from {{schema}}.arrival_mark o
           where o.rail = g.rail and o.kind = g.kind and o.mark = g.mark and o.transfer_id <> g.transfer_id
          offset 0
        ) m on true
    ) n
$$;
