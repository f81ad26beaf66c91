-- What code that knows one gateway calls.
create or replace function {{schema}}.claim_fetched(p_ids text[], p_jobs uuid[], p_retry_counts integer[], p_worker text, p_client text)
returns table (
  id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text, unknown_since text, expires_at text,
  claimed_at text, unknown_attempt integer, released boolean, client text, environment text, refusals integer,
  registration jsonb, own_refusals integer
) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  select c.id, c.account_id, c.idempotency_key, c.request, c.attempt, c.reason, c.unknown_since, c.expires_at, c.claimed_at, c.unknown_attempt, c.released, c.client, c.environment, c.refusals, c.registration, c.own_refusals
  from {{schema}}.claim_for_gateways(p_ids, p_jobs, p_retry_counts, p_worker, p_client, array['default']) c;
end
$$;
