-- Removes the oldest transfers of an account that are ready from the outbox, up to a limit. Skips locked ones. Returns how often each was
-- fetched before, too. A host that cancels many may have locked all of the oldest: this reads past a thousand of them, and past any
-- number every twentieth time only, so that they cost other accounts little. With an equality, a plan from when the table was small
-- may read the rows of all accounts in the order of their ids.
create or replace function {{schema}}.queue_dequeue(p_account_id text, p_limit bigint, out ids uuid[], out fetches integer[])
language sql as $$
  with removed as (
    delete from {{schema}}.outbox o
    where o.id = any (array(
      select l.id from (
        select w.id from {{schema}}.outbox w
        where w.ready and w.account_id between p_account_id and p_account_id order by w.account_id, w.id
        limit case when random() < 0.05 then null else p_limit + 1000 end
      ) c
      cross join lateral (select w.id from {{schema}}.outbox w where w.id = c.id and w.ready for update skip locked) l
      limit p_limit))
    returning o.id, o.fetches
  )
  select coalesce(array_agg(t.id order by t.id), '{}'), coalesce(array_agg(t.fetches order by t.id), '{}') from removed t
$$;
