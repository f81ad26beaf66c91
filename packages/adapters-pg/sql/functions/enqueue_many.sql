-- What code that knows one gateway calls.
create or replace function {{schema}}.enqueue_many(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environment text
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
begin
  return query select * from {{schema}}.enqueue_many_to(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify,
    p_not_before, p_expires_at, array_fill(coalesce(p_environment, ''), array[cardinality(p_ids)]),
    array_fill('default'::text, array[cardinality(p_ids)]));
end
$$;
