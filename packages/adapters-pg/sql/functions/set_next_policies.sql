-- Writes the next version of the policies. False where somebody has set it whom the snapshot of the caller's transaction does not show.
create or replace function {{schema}}.set_next_policies(p_version integer, p_policies jsonb, p_actor text, p_reason text) returns boolean language plpgsql as $$
begin
  perform {{schema}}.set_policies(p_version, p_policies, p_actor, p_reason);
  return true;
exception when unique_violation then
  return false;
end
$$;
