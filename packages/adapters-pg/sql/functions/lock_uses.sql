-- Locks what is used of limits, in the order of the key, as all code does; makes the rows that are missing. Claims hold them for milliseconds, so this
-- waits for them; but one that stands still holds them for as long as the server keeps its session, and must not hold up what others need.
-- Returns the places of those that it did not get. The caller gives them in that order.
create or replace function {{schema}}.lock_uses(p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[]) returns integer[]
language plpgsql set lock_timeout = '250ms' as $$
declare
  v_busy integer[] := '{}';
begin
  begin
    insert into {{schema}}.limit_use (counter, scope, began_at, until)
    select k.counter, k.scope, k.began_at, k.until from unnest(p_counters, p_scopes, p_began_at, p_until) as k (counter, scope, began_at, until)
    order by k.counter collate "C", k.scope collate "C", k.began_at on conflict do nothing;
    perform from unnest(p_counters, p_scopes, p_began_at) as k (counter, scope, began_at)
    join {{schema}}.limit_use u on u.counter = k.counter and u.scope = k.scope and u.began_at = k.began_at
    order by u.counter, u.scope, u.began_at for update of u;
    return '{}';
  exception when lock_not_available then
    null;
  end;
  -- One by one, for a moment each. The function's own setting is back at its end.
  perform set_config('lock_timeout', '10ms', true);
  for v_place in 1 .. cardinality(p_counters) loop
    begin
      insert into {{schema}}.limit_use (counter, scope, began_at, until)
      values (p_counters[v_place], p_scopes[v_place], p_began_at[v_place], p_until[v_place]) on conflict do nothing;
      perform from {{schema}}.limit_use u
      where u.counter = p_counters[v_place] and u.scope = p_scopes[v_place] and u.began_at = p_began_at[v_place] for update;
    exception when lock_not_available then
      v_busy := v_busy || v_place;
    end;
  end loop;
  return v_busy;
end
$$;
