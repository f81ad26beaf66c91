-- Claims the transfers of fetched jobs as claim() does, those alone whose jobs the caller still has. Between the fetch and this, the
-- worker that had a job before may have written its answer and given it back to the queue, so that others fetch it too. It holds the
-- jobs, and waits for none.
create or replace function {{schema}}.claim_for_gateways(
  p_ids text[], p_jobs uuid[], p_retry_counts integer[], p_worker text, p_client text, p_gateways text[]
)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text, refusals integer,
  registration jsonb, own_refusals integer, gateway text
) language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_ids text[] := '{}';
  v_jobs uuid[] := '{}';
  v_retry_counts integer[] := '{}';
begin
  for v_at in 1 .. coalesce(cardinality(p_jobs), 0) loop
    if {{schema}}.queue_hold(p_jobs[v_at], p_retry_counts[v_at]) then
      v_ids := v_ids || p_ids[v_at];
      v_jobs := v_jobs || p_jobs[v_at];
      v_retry_counts := v_retry_counts || p_retry_counts[v_at];
    end if;
  end loop;
  select h.ids, h.jobs into v_ids, v_jobs from {{schema}}.hold_gateways(v_ids, v_jobs, v_retry_counts, p_gateways) h;
  return query
  select c.*, (select t.gateway from {{schema}}.transfer t where t.id = c.id) from {{schema}}.claim(v_ids, v_jobs, p_worker, p_client) c;
end
$$;
