-- Leases transfers that are due to be screened, from the account behind `p_after` on: each account gets the same share, and with what is under way of it, as
-- `p_accounts` and `p_counts` say, `p_most_each` at most. Very many of one account keep nobody waiting. `next_after` is the last account that was read, null when there is no
-- other one. Behind the fence nothing is asked: what is held in the backup may have been sent since. The plans are held to indexes.
create or replace function {{schema}}.lease_screenings(
  p_after text, p_limit integer, p_most_each integer, p_accounts text[], p_counts integer[], p_lease_ms integer,
  out ids text[], out asks integer[], out next_after text
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  c_most_accounts constant integer := 2000;
  v_now timestamptz := clock_timestamp();
  v_account text;
  v_due_at timestamptz;
  v_room integer;
  v_due text[] := '{}';
  v_rooms integer[] := '{}';
begin
  ids := '{}';
  asks := '{}';
  next_after := p_after;
  if exists (select from {{schema}}.known_database d where d.fenced_since is not null) then
    next_after := null;
    return;
  end if;
  for v_step in 1 .. c_most_accounts loop
    -- The first of an account in the index is the one that is due first.
    select s.account_id, s.due_at into v_account, v_due_at from {{schema}}.screening s
    where not s.on_hold and s.account_id > next_after order by s.account_id, s.due_at limit 1;
    if not found then
      next_after := null;
      exit;
    end if;
    next_after := v_account;
    v_room := p_most_each - coalesce(p_counts[array_position(p_accounts, v_account)], 0);
    if v_due_at <= v_now and v_room > 0 then
      v_due := v_due || v_account;
      v_rooms := v_rooms || v_room;
      exit when cardinality(v_due) = p_limit;
    end if;
  end loop;
  with due as materialized (
    select d.transfer_id from unnest(v_due, v_rooms) as a (account_id, room)
    cross join lateral (
      select s.transfer_id from {{schema}}.screening s
      where s.account_id = a.account_id and not s.on_hold and s.due_at <= v_now order by s.due_at, s.transfer_id
      limit least(a.room, ceil(p_limit::numeric / nullif(cardinality(v_due), 0))::integer) for no key update skip locked
    ) d limit p_limit
  ), leased as (
    update {{schema}}.screening s set due_at = v_now + p_lease_ms * interval '1 millisecond', asks = s.asks + 1
    from due d where s.transfer_id = d.transfer_id
    returning s.transfer_id, s.asks
  )
  select coalesce(array_agg(l.transfer_id), '{}'), coalesce(array_agg(l.asks), '{}') into ids, asks from leased l;
end
$$;
