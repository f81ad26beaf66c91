-- Waits until nobody is about to add to the chain of the audit, for at most two seconds. Whoever has its lock for longer does something else than add.
create or replace function {{schema}}.await_chain() returns void language plpgsql set lock_timeout = '2s' as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('outlay audit chain {{schema}}', 0));
exception when lock_not_available then
  null;
end
$$;
