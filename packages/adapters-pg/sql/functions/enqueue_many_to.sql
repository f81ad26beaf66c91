-- The same as enqueue_many_in, for transfers of no batch.
create or replace function {{schema}}.enqueue_many_to(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
begin
  return query select * from {{schema}}.enqueue_many_in(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify,
    p_not_before, p_expires_at, p_environments, p_gateways, array_fill(''::text, array[cardinality(p_ids)]));
end
$$;
