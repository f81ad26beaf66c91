-- Writes an approval of a transfer, which the caller has locked. It has the rights of its owner: nobody else writes the table, so that no approval has another
-- time than its own, and none is changed. A transaction whose snapshot does not have this approval fails at the lock of the transfer, instead of counting
-- without it. The login is that of the session, whatever its role. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.add_approval(p_id text, p_actor text, p_roles text[], p_note text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update {{schema}}.transfer t set updated_at = clock_timestamp() where t.id = p_id;
  insert into {{schema}}.approval (transfer_id, actor, roles, note, login) values (p_id, p_actor, p_roles, p_note, session_user);
end
$$;
