-- One step of adding up counts. True when there is more to do at once. It waits for no other worker, and nobody waits for it.
--
-- A part is counted twenty seconds after its end. A mark five seconds after the end divides the transactions: what began behind it writes nothing of the part.
-- Those before it that still run when it is counted are noted, and when one of them has ended, the part is counted again. So each commit counts once, however long
-- it took, up to two days; and an hour with such a part stays open while others go on.
create or replace function {{schema}}.count_transfers(p_at timestamptz) returns boolean language plpgsql
set lock_timeout = '2s' as $$
declare
  c_part constant interval := '5 minutes';
  c_hour constant interval := '1 hour';
  c_day constant interval := '24 hours';
  v_now timestamptz := coalesce(p_at, clock_timestamp());
  v_progress {{schema}}.transfer_count_progress;
  v_hour timestamptz;
begin
  insert into {{schema}}.transfer_count_progress (began_at, counted_to, days_to)
  select date_trunc('hour', v_now, 'UTC'), date_trunc('hour', v_now, 'UTC'), date_trunc('day', v_now, 'UTC')
  where not exists (select from {{schema}}.transfer_count_progress) on conflict do nothing;
  select p.* into v_progress from {{schema}}.transfer_count_progress p for no key update skip locked;
  if not found then
    return false;
  end if;

  if v_progress.mark is null and v_now >= v_progress.counted_to + c_part + interval '5 seconds' then
    update {{schema}}.transfer_count_progress set mark = pg_snapshot_xmax(pg_current_snapshot()), marked_at = v_now;
  elsif v_now >= v_progress.marked_at + interval '15 seconds' then
    if v_progress.counted_to + c_part + interval '5 seconds' > v_progress.marked_at then
      update {{schema}}.transfer_count_progress set mark = null, marked_at = null;
    else
      -- Before it is counted: what ends in between is counted, and then once more.
      insert into {{schema}}.transfer_count_open (began_at, transactions)
      select v_progress.counted_to, r.running from (
        select array_agg(x.id) as running from pg_snapshot_xip(pg_current_snapshot()) as x (id) where x.id < v_progress.mark) r
      where r.running is not null;
      perform {{schema}}.count_part(v_progress.counted_to);
      update {{schema}}.transfer_count_progress set counted_to = v_progress.counted_to + c_part;
    end if;
    return true;
  end if;
  if {{schema}}.recount_part(v_now) then
    return true;
  end if;

  v_hour := (
    select date_trunc('hour', c.began_at, 'UTC') from {{schema}}.transfer_count c
    where c.span = 'part' and c.began_at < date_trunc('hour', v_progress.counted_to, 'UTC')
      and not exists (
        select from {{schema}}.transfer_count_open o
        where o.began_at >= date_trunc('hour', c.began_at, 'UTC') and o.began_at < date_trunc('hour', c.began_at, 'UTC') + c_hour)
    order by c.began_at limit 1);
  if v_hour is not null then
    perform {{schema}}.merge_counts('part', 'hour', v_hour, v_hour + c_hour);
    delete from {{schema}}.transfer_count c where c.span = 'part' and c.began_at >= v_hour and c.began_at < v_hour + c_hour;
    return true;
  end if;
  if v_progress.days_to + c_day <= v_progress.counted_to
    and not exists (select from {{schema}}.transfer_count c where c.span = 'part' and c.began_at < v_progress.days_to + c_day)
    and not exists (select from {{schema}}.transfer_count_open o where o.began_at < v_progress.days_to + c_day) then
    perform {{schema}}.merge_counts('hour', 'day', v_progress.days_to, v_progress.days_to + c_day);
    update {{schema}}.transfer_count_progress set days_to = v_progress.days_to + c_day;
    return true;
  end if;
  return false;
end
$$;
