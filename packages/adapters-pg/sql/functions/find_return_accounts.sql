-- Gives a row in `return_reading` to each account that has transfers whose money may come back, and whose windows are not closed. From one account to the next, since some may
-- have very many.
create or replace function {{schema}}.find_return_accounts() returns void language sql set lock_timeout = '250ms' as $$
  with recursive account as (
    (select w.account_id from {{schema}}.return_window w where w.closed_at is null order by w.account_id limit 1)
    union all
    select (select w.account_id from {{schema}}.return_window w where w.account_id > a.account_id and w.closed_at is null order by w.account_id limit 1)
    from account a where a.account_id is not null
  )
  insert into {{schema}}.return_reading (account_id)
  select a.account_id from account a
  where a.account_id is not null and not exists (select 1 from {{schema}}.return_reading r where r.account_id = a.account_id)
  on conflict do nothing
$$;
