-- What code that knows one gateway calls.
create or replace function {{schema}}.fetch_and_claim(p_limit integer, p_worker text, p_client text, p_turn text)
returns table (
  job uuid, retry_count integer, id text, account_id text, idempotency_key text, request jsonb, attempt integer, reason text,
  unknown_since text, expires_at text, claimed_at text, unknown_attempt integer, released boolean, client text,
  environment text, refusals integer, registration jsonb, own_refusals integer, turn text
) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  select f.job, f.retry_count, f.id, f.account_id, f.idempotency_key, f.request, f.attempt, f.reason, f.unknown_since, f.expires_at, f.claimed_at, f.unknown_attempt, f.released, f.client, f.environment, f.refusals, f.registration, f.own_refusals, f.turn
  from {{schema}}.fetch_for_gateways(p_limit, p_worker, p_client, p_turn, array['default']) f;
end
$$;
