-- Notes that the money of these transfers may come back, for the time that their `return_window_ms` says, from their completion on. Those
-- without one are left out.
create or replace function {{schema}}.open_return_windows(p_complete jsonb) returns void language sql as $$
  insert into {{schema}}.return_window (transfer_id, account_id, ends_at)
  select t.id, {{schema}}.gateway_account(t.gateway, t.account_id), least(t.reached_at, clock_timestamp()) + n.return_window_ms * interval '1 millisecond'
  from jsonb_to_recordset(p_complete) as n (id text, return_window_ms bigint)
  cross join lateral (select t.* from {{schema}}.transfer t where t.id = n.id offset 0) t
  where n.return_window_ms is not null and t.status = 'complete'
  order by t.id on conflict do nothing
$$;
