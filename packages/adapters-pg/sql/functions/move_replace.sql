-- Keeps packed rows of one table of an account that arrives in place of all that is here between two keys, in one step: so whoever does it late, with the same
-- rows, changes nothing. `p_last` is null for all behind `p_after`. Returns false where the account is not arriving with this move.
create or replace function {{schema}}.move_replace(
  p_account_id text, p_move bigint, p_kind text, p_after text, p_last text, p_keys text[], p_contents text[]
) returns boolean language plpgsql as $$
begin
  if not {{schema}}.move_hold(p_account_id, p_move, 'arriving') then
    return false;
  end if;
  delete from {{schema}}.moved_row m
  where m.account_id = p_account_id and m.kind = p_kind and m.key > p_after and (p_last is null or m.key <= p_last) and m.key <> all (p_keys);
  insert into {{schema}}.moved_row (account_id, kind, key, content)
  select p_account_id, p_kind, n.key, n.content::jsonb from unnest(p_keys, p_contents) as n (key, content)
  on conflict (account_id, kind, key) do update set content = excluded.content;
  return true;
end
$$;
