-- Expects an account here with a move: it is refused here until it has arrived, and rows of an earlier move that went back are dropped. Does nothing where
-- it is expected already, or is here. Returns its state here, or null where another move, or the end of this one, has superseded the caller.
create or replace function {{schema}}.move_expect(p_account_id text, p_node text, p_move bigint, p_actor text, p_reason text)
returns text language plpgsql as $$
declare
  v_state text;
begin
  insert into {{schema}}.departed_account as d (account_id, to_node, version, state) values (p_account_id, p_node, p_move, 'expecting')
  on conflict (account_id) do update set to_node = excluded.to_node, version = excluded.version, state = 'expecting', departed_at = clock_timestamp()
  where d.version < p_move and d.state in ('expecting', 'arriving', 'departed')
  returning d.state into v_state;
  if v_state is not null then
    delete from {{schema}}.moved_row m where m.account_id = p_account_id;
    perform {{schema}}.record_audit('accounts.move', p_actor, p_reason, null, null,
      jsonb_build_object('accountId', p_account_id, 'to', p_node, 'move', p_move, 'step', 'expecting'));
    return v_state;
  end if;
  return (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state in ('expecting', 'arriving'));
end
$$;
