-- True when a return of a transfer waits or is held, so that a report without returns withdraws it. It is volatile, so it sees what has been
-- committed until it is called: behind the lock of the transfer that is all.
create or replace function {{schema}}.has_open_returns(p_id text) returns boolean language plpgsql as $$
begin
  return exists (
    select from {{schema}}.transfer_return r where r.transfer_id = p_id and r.sequence is null and r.resolved_at is null);
end
$$;
