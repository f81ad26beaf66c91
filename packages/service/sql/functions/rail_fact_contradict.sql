-- Makes exceptions of applied facts that say otherwise than their transfers have ended: {id, status, failure} each. It acts as the system, as facts
-- are nobody's else, while the caller may act for the client that canceled the transfer.
create or replace function {{schema}}.rail_fact_contradict(p_ended jsonb) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_system constant text := coalesce(current_setting('outlay.system', true), '');
begin
  perform set_config('outlay.system', 'on', true);
  update {{schema}}.rail_fact f
     set applied_at = null, exception_reason = 'status_contradicted'
   where f.id = any (array(
     select o.id
       from jsonb_to_recordset(p_ended) as c(id text, status text, failure jsonb)
      cross join lateral (
        select a.id, a.kind, a.payload from {{schema}}.rail_fact a
         where a.transfer_id = c.id and a.applied_at is not null and a.exception_reason is null
        offset 0
      ) o
      where o.kind = any (case c.status when 'complete' then array['rejected', 'returned', 'canceled'] else array['settled'] end)
        and not coalesce((coalesce(nullif(c.failure, 'null'), o.payload -> 'failure') ->> 'retriable')::boolean, false)
   ));
  perform set_config('outlay.system', v_system, true);
end
$$;
