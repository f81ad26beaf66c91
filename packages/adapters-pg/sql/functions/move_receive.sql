-- Keeps what is copied of an account before its pause. Returns false where that has begun: a copy from before, which may be old, never comes after it.
create or replace function {{schema}}.move_receive(p_account_id text, p_move bigint, p_kinds text[], p_keys text[], p_contents text[])
returns boolean language plpgsql as $$
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'expecting') then
    return false;
  end if;
  insert into {{schema}}.moved_row (account_id, kind, key, content)
  select p_account_id, n.kind, n.key, n.content::jsonb from unnest(p_kinds, p_keys, p_contents) as n (kind, key, content)
  on conflict (account_id, kind, key) do update set content = excluded.content;
  return true;
end
$$;
