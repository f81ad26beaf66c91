-- What code that knows no policies calls. Where there are some, what it enqueues is held: nobody has judged it.
create or replace function {{schema}}.enqueue_many_in(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_batches text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
declare
  v_tag text := (select p.tag from {{schema}}.policy_state p);
begin
  return query select * from {{schema}}.enqueue_many_judged(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify,
    p_not_before, p_expires_at, p_environments, p_gateways, p_batches,
    array_fill(case when v_tag is null then '' else {{schema}}.unjudged_holds()::text end, array[cardinality(p_ids)]), v_tag);
end
$$;
