-- Begins to let an account leave this node with a move: from the commit on nothing is enqueued for it here. Does nothing where the move has begun already.
-- What an earlier move has left, which has ended, it takes over, but not an account that has gone or is yet to come: then the directory is wrong. Returns the
-- state of the account here, or null where another move, or the end of this one, has superseded the caller.
create or replace function {{schema}}.move_depart(p_account_id text, p_to_node text, p_move bigint, p_actor text, p_reason text)
returns text language plpgsql as $$
declare
  v_state text;
begin
  insert into {{schema}}.departed_account as d (account_id, to_node, version, state) values (p_account_id, p_to_node, p_move, 'leaving')
  on conflict (account_id) do update set to_node = excluded.to_node, version = excluded.version, state = 'leaving', departed_at = clock_timestamp()
  where d.version < p_move and d.state in ('leaving', 'packed', 'returning', 'here')
  returning d.state into v_state;
  if v_state is not null then
    perform {{schema}}.record_audit('accounts.move', p_actor, p_reason, null, null,
      jsonb_build_object('accountId', p_account_id, 'to', p_to_node, 'move', p_move, 'step', 'leaving'));
    return v_state;
  end if;
  return (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.to_node = p_to_node and d.state in ('leaving', 'packed'));
end
$$;
