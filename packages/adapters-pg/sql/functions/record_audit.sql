-- Writes down a command in its transaction. It has the rights of its owner: nobody else may write the table. The login is that of the session, whatever its role.
-- What set_policies() and set_limits() have written down in this transaction is not written twice: code of earlier releases writes it down again. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.record_audit(
  p_command text, p_actor text, p_reason text, p_transfer_id text, p_before jsonb, p_after jsonb
) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if p_command in ('policies.set', 'limits.set') and (
    select a.transaction = pg_current_xact_id() and a.after -> 'version' = p_after -> 'version'
    from {{schema}}.audit a where a.command = p_command order by a.id desc limit 1) then
    return;
  end if;
  insert into {{schema}}.audit (command, actor, reason, transfer_id, before, after, login)
  values (p_command, p_actor, p_reason, p_transfer_id, p_before, p_after, session_user);
end
$$;
