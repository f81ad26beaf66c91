-- Writes what became of facts that were neither applied nor refused yet: an object of {rail, transfer_id, account_id, reason, mark_owner} by the id of
-- the fact. Without a join, since a plan for a table that was never analyzed would read all of it.
create or replace function {{schema}}.rail_fact_finish(p_outcomes jsonb, p_now timestamptz) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_ids constant text[] := array(select jsonb_object_keys(p_outcomes));
begin
  update {{schema}}.rail_fact f
     set rail = coalesce(f.rail, p_outcomes -> f.id ->> 'rail'),
         transfer_id = coalesce(f.transfer_id, p_outcomes -> f.id ->> 'transfer_id'),
         account_id = coalesce(f.account_id, p_outcomes -> f.id ->> 'account_id'),
         applied_at = case when p_outcomes -> f.id ->> 'reason' is null then p_now end,
         exception_reason = p_outcomes -> f.id ->> 'reason',
         payload = case when p_outcomes -> f.id ->> 'mark_owner' is null then f.payload
                        else f.payload || jsonb_build_object('markOwner', p_outcomes -> f.id -> 'mark_owner') end
   where f.id = any (v_ids) and f.applied_at is null and f.exception_reason is null;
end
$$;
