-- Leases the reading of an account's list, from where it stands; no row when another worker has it. `patience` is how many pages a
-- new reading may go on without a due transfer: a quarter of the number of due transfers, so that a fruitless reading does not
-- cost much more than polling them one by one. A reading that was idle for a minute starts over.
create or replace function {{schema}}.lease_list_reading(p_account_id text, p_leased integer, p_lease_ms integer)
returns table (cursor text, patience integer) language sql set lock_timeout = '250ms' as $$
  insert into {{schema}}.list_reading as r (account_id, patience, leased_until)
  values (
    p_account_id,
    1 + (p_leased + (select count(*) from (
      select 1 from {{schema}}.transfer t
      where t.account_id = {{schema}}.account_of(p_account_id) and t.gateway = {{schema}}.gateway_of(p_account_id) and t.stage = 'submitted' and t.next_poll_at <= statement_timestamp() limit 100000
    ) d)::integer) / 4,
    clock_timestamp() + p_lease_ms * interval '1 millisecond')
  on conflict (account_id) do update
  set leased_until = excluded.leased_until,
      cursor = case when r.leased_until < clock_timestamp() - interval '1 minute' then null else r.cursor end,
      patience = case when r.cursor is null or r.leased_until < clock_timestamp() - interval '1 minute'
        then excluded.patience else r.patience end
  where r.leased_until <= clock_timestamp()
  returning r.cursor, r.patience
$$;
