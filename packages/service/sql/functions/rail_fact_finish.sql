-- Writes what became of facts that were neither applied nor refused yet: {id, rail, transfer_id, account_id, reason} each.
create or replace function {{schema}}.rail_fact_finish(p_outcomes jsonb, p_now timestamptz) returns void language sql as $$
  update {{schema}}.rail_fact f
     set rail = coalesce(f.rail, g.rail),
         transfer_id = coalesce(f.transfer_id, g.transfer_id),
         account_id = coalesce(f.account_id, g.account_id),
         applied_at = case when g.reason is null then p_now end,
         exception_reason = g.reason
    from jsonb_to_recordset(p_outcomes) as g(id text, rail text, transfer_id text, account_id text, reason text)
   where f.id = g.id and f.applied_at is null and f.exception_reason is null
$$;
