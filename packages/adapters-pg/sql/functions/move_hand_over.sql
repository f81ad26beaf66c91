-- Gives an account up for the other node, for good: only after that the other one unpacks it, and nothing takes the account back here. What limits on sums have counted of it
-- is taken away with that, and not before: until then it may go on here. Returns the state here, `handed_over`, or `departed` where what was kept of it has been
-- dropped; null where another move, or its way back, has superseded the caller.
create or replace function {{schema}}.move_hand_over(p_account_id text, p_move bigint) returns text language plpgsql set lock_timeout = '2s' as $$
declare
  v_state text;
begin
  update {{schema}}.departed_account d set state = 'handed_over'
  where d.account_id = p_account_id and d.version = p_move and d.state = 'packed' returning d.state into v_state;
  if v_state is not null then
    -- It locks in the order of the key, as claims do. What is used of a span that was over long ago may be gone.
    insert into {{schema}}.limit_use as u (counter, scope, began_at, until, used)
    select c.counter, c.scope, c.began_at, min(c.until), -sum(c.amount)
    from {{schema}}.moved_row m cross join lateral jsonb_populate_recordset(null::{{schema}}.limit_charge, m.content) c
    where m.account_id = p_account_id and m.kind = 'limit_charge'
      and exists (select from {{schema}}.limit_use o where o.counter = c.counter and o.scope = c.scope and o.began_at = c.began_at)
    group by 1, 2, 3 order by 1, 2, 3 on conflict (counter, scope, began_at) do update set used = u.used + excluded.used;
    return v_state;
  end if;
  return (
    select d.state from {{schema}}.departed_account d
    where d.account_id = p_account_id and d.version = p_move and d.state in ('handed_over', 'departed'));
end
$$;
