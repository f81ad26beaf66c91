-- The advisory lock of a batch: shared by whoever enqueues into it, alone for whoever completes it.
create or replace function {{schema}}.batch_lock(p_id text) returns bigint language sql immutable parallel safe as $$
  select hashtextextended('outlay batch ' || p_id, 0)
$$;
