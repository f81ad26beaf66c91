-- Takes submitted transfers that are due for a look; the lease keeps other workers away meanwhile. No index finds what is
-- compared with clock_timestamp(), which is another one for every row. Accounts whose list is being read are left out: whoever
-- reads it looks at their transfers too. So are those of `p_except`, which the worker is busy with.
create or replace function {{schema}}.take_unread(p_limit integer, p_lease_ms integer, p_except text[])
returns table (id text, account_id text, remote_id text, status text, transfer_type text, looks integer) language sql
set lock_timeout = '250ms' as $$
  with due as (
    select t.id from {{schema}}.transfer t
    where t.follow_at <= statement_timestamp() and t.stage = 'submitted' and t.account_id <> all (p_except)
      and not exists (
        select 1 from {{schema}}.list_reading r where r.account_id = t.account_id and r.leased_until > clock_timestamp())
    order by t.follow_at limit p_limit for no key update skip locked
  )
  update {{schema}}.transfer t
  set follow_at = clock_timestamp() + p_lease_ms * interval '1 millisecond', looks = t.looks + 1
  from due where t.id = due.id
  returning t.id, t.account_id, t.remote_id, t.status, t.request -> 'destination' ->> 'transferType', t.looks
$$;
