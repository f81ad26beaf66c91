-- The same as enqueue_many_judged, for transfers of no batch that nothing holds.
create or replace function {{schema}}.enqueue_many_under(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_policies text
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
declare
  v_nothing text[] := array_fill(''::text, array[cardinality(p_ids)]);
begin
  return query select * from {{schema}}.enqueue_many_judged(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify,
    p_not_before, p_expires_at, p_environments, p_gateways, v_nothing, v_nothing, p_policies);
end
$$;
