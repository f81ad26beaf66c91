-- True of an attempt whose request may still arrive at the service, when nobody waits for its answer any more.
create or replace function {{schema}}.left_just_now(p_attempt {{schema}}.attempt) returns boolean language sql stable as $$
  select p_attempt.claimed_at > statement_timestamp() - interval '10 minutes'
$$;
