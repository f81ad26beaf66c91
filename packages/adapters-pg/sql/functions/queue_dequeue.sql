-- Removes the oldest transfers of an account that are ready from the outbox, up to a limit. Skips locked ones. Returns how often each was
-- fetched before, too.
create or replace function {{schema}}.queue_dequeue(p_account_id text, p_limit bigint, out ids uuid[], out fetches integer[])
language sql as $$
  with removed as (
    delete from {{schema}}.outbox o
    where o.id = any (array(
      select w.id from {{schema}}.outbox w where w.ready and w.account_id = p_account_id order by w.id limit p_limit for update skip locked))
    returning o.id, o.fetches
  )
  select coalesce(array_agg(t.id order by t.id), '{}'), coalesce(array_agg(t.fetches order by t.id), '{}') from removed t
$$;
