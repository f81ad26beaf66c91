-- Writes down a command that holds payments back, as record_audit() does, but neither fails nor waits for it: whoever stops payments in an emergency does so
-- although the audit is locked, full or not theirs to write. False when nothing was written; the transaction goes on as if it had not been tried.
create or replace function {{schema}}.try_audit(
  p_command text, p_actor text, p_reason text, p_transfer_id text, p_before jsonb, p_after jsonb
) returns boolean language plpgsql set lock_timeout = '1s' as $$
begin
  perform {{schema}}.record_audit(p_command, p_actor, p_reason, p_transfer_id, p_before, p_after);
  return true;
exception when others then
  return false;
end
$$;
