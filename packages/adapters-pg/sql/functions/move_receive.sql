-- Keeps rows of an account that arrives, each once however often it is received. Returns false where the account is not expected with this move.
create or replace function {{schema}}.move_receive(p_account_id text, p_move bigint, p_kinds text[], p_keys text[], p_contents text[])
returns boolean language plpgsql as $$
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'arriving') then
    return false;
  end if;
  insert into {{schema}}.moved_row (account_id, kind, key, content)
  select p_account_id, n.kind, n.key, n.content::jsonb from unnest(p_kinds, p_keys, p_contents) as n (kind, key, content)
  on conflict do nothing;
  return true;
end
$$;
