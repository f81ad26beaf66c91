-- When a request of a transfer may have left for the first time: at the first attempt in the log, or, where a restore has lost the
-- log, as soon as the transfer existed and was due. Never later than its doubt.
create or replace function {{schema}}.first_request_at(p_transfer {{schema}}.transfer) returns timestamptz language sql stable as $$
  select least(p_transfer.unknown_since, clock_timestamp(), coalesce(
    (select case when not bool_or(a.outcome is not distinct from 'reconciled') then min(a.claimed_at) filter (where a.step is null) end
      from {{schema}}.attempt a where a.transfer_id = p_transfer.id),
    greatest(p_transfer.created_at, p_transfer.not_before)))
$$;
