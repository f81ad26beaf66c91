-- True of an attempt of this transfer whose request may still arrive at the service and have an effect, whatever a later attempt was
-- answered: nobody answered it, or nobody knows its outcome. Where the transfer has ended by an answer, the service gives the same one to
-- whatever else arrives under that key.
create or replace function {{schema}}.may_still_arrive(p_attempt {{schema}}.attempt, p_transfer {{schema}}.transfer) returns boolean
language sql stable as $$
  select p_attempt.step is null and {{schema}}.left_just_now(p_attempt)
    and (p_attempt.answered_at is null or p_attempt.outcome = 'unknown' and p_transfer.stage <> 'settled')
$$;
