-- The turn with which a worker begins: that of an account at random, so that short-lived processes do not all begin with the same one.
create or replace function {{schema}}.queue_first_turn() returns text language sql volatile as $$
  with recursive known (account_id, step) as (
    select ''::text collate "C", 0
    union all
    select n.account_id, k.step + 1 from known k
    cross join lateral (
      select o.account_id from {{schema}}.outbox o where o.ready and o.account_id > k.account_id order by o.account_id limit 1) n
    where k.step < 1000
  )
  select '0 0 ' || k.account_id from known k order by random() limit 1
$$;
