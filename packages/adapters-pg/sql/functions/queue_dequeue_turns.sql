-- Removes from the outbox what the accounts behind `p_account_id` have in their turns of the rounds from `p_round` on: of each as many of
-- the oldest transfers that are ready as its weight says, up to the limit in all. With `p_used`, the first turn is the rest of that of
-- `p_account_id`. Skips locked ones, and accounts in `p_exhausted`. Answers with the transfers in the order of the turns, how often each
-- was fetched before, the accounts that had fewer than their turn, and how many rounds lead to the next turn of one that had none. The
-- last account and what it had of its turn are null when no account is left.
--
-- Of several rounds, which begin with the first account, the first transfers are those of the first rounds, as if each round were a call:
-- where the limit ends them, no name is preferred. `passed` is how many rounds are before that of the last account, and `rounds` how many
-- there were (a quotient that may be off by one is compared with the products that turns are made of): one where several have more than `p_most` accounts and transfers, as when very many begin to wait.
--
-- The accounts are found one by one in the index, so an account with many transfers costs the others nothing. A host that cancels many may
-- have locked all of the oldest: this reads past a thousand of them, and past any number every twentieth time only. With an equality, a
-- plan from when the table was small may read the rows of all accounts in the order of their ids.
create or replace function {{schema}}.queue_dequeue_turns(
  p_account_id text, p_used bigint, p_round bigint, p_rounds bigint, p_exhausted text[], p_limit integer, p_gateways text[], p_most integer,
  out ids uuid[], out fetches integer[], out exhausted text[], out needed bigint, out last_account text, out last_used bigint,
  out passed bigint, out rounds bigint
) language plpgsql as $$
declare
  v_is_full boolean;
begin
  with recursive next (account_id, used) as (
    select case when p_used > 0 then p_account_id else (
      select o.account_id from {{schema}}.outbox o where o.ready and o.account_id > p_account_id order by o.account_id limit 1) end, p_used
    union all
    select (select o.account_id from {{schema}}.outbox o where o.ready and o.account_id > n.account_id order by o.account_id limit 1), 0::bigint
    from next n where n.account_id is not null
  ), turns as materialized (
    select n.account_id, n.used, w.weight,
      floor(w.weight * (p_round + p_rounds))::bigint - floor(w.weight * p_round)::bigint - n.used as quota
    from next n
    cross join lateral (select coalesce(
      (select f.weight from {{schema}}.account f where f.account_id = {{schema}}.account_of(n.account_id) and f.weight <> 1), 1) as weight) w
    where n.account_id is not null and (p_gateways is null or {{schema}}.gateway_of(n.account_id) = any (p_gateways))
  ), locked as materialized (
    -- One row for an account that has none, so that no stretch of such accounts is endless.
    select t.*, l.id, l.fetches from turns t
    left join lateral (
      select l.id, l.fetches from (
        select w.id from {{schema}}.outbox w
        where w.ready and w.account_id between t.account_id and t.account_id order by w.account_id, w.id
        limit case when random() < 0.05 then null else greatest(0, t.quota) + 1000 end
      ) c
      cross join lateral (select w.id, w.fetches from {{schema}}.outbox w where w.id = c.id and w.ready for update skip locked) l
      limit case when t.account_id = any (p_exhausted) then 0 else greatest(0, t.quota) end
    ) l on true
    limit case when p_rounds = 1 then p_limit else p_most end
  ), counted as (
    select l.account_id, min(l.used) as used, min(l.weight) as weight, min(l.quota) as quota, count(l.id) as found,
      max(l.account_id) over () as last, sum(count(*)) over () = case when p_rounds = 1 then p_limit else p_most end as is_full
    from locked l group by l.account_id
  ), taken as materialized (
    select g.*, row_number() over (order by g.step, g.account_id, g.id) as position from (
      select n.*, n.guess - (floor(n.weight * (p_round + n.guess)) >= n.goal)::integer + (floor(n.weight * (p_round + n.guess + 1)) < n.goal)::integer as step
      from (
        select k.*, case when p_rounds > 1 then ceil(k.goal / k.weight) - p_round - 1 else 0 end as guess
        from (
          select l.*, floor(l.weight * p_round) + l.used + row_number() over (partition by l.account_id order by l.id) as goal
          from locked l where l.id is not null) k) n) g
    order by position limit p_limit
  ), cut as (
    select t.account_id, t.step, (select count(*) from taken o where o.account_id = t.account_id and o.step = t.step) as used
    from taken t where p_rounds > 1 and t.position = p_limit
  )
  select (select array_agg(t.id order by t.position) from taken t), (select array_agg(t.fetches order by t.position) from taken t),
    array_agg(c.account_id) filter (where c.found < c.quota and (c.found = 0 or not (c.is_full and c.account_id = c.last))),
    min(ceil((floor(c.weight * p_round) + 1) / c.weight)::bigint - p_round) filter (where c.used = 0 and c.quota <= 0),
    -- Where the last account had nothing, its turn is over.
    coalesce((select u.account_id from cut u), max(c.account_id) filter (where c.is_full)),
    coalesce((select u.used from cut u), max(case when c.found > 0 then c.used + c.found else 0 end) filter (where c.is_full and c.account_id = c.last)),
    (select u.step from cut u), p_rounds, bool_or(c.is_full)
  into ids, fetches, exhausted, needed, last_account, last_used, passed, rounds, v_is_full
  from counted c;
  if p_rounds > 1 and v_is_full then
    select t.* into ids, fetches, exhausted, needed, last_account, last_used, passed, rounds
    from {{schema}}.queue_dequeue_turns(p_account_id, p_used, p_round, 1, p_exhausted, p_limit, p_gateways, p_most) t;
    return;
  end if;
  delete from {{schema}}.outbox o where o.id = any (ids);
end
$$;
-- Earlier workers call it through a function that has been replaced by now.
drop function if exists {{schema}}.queue_dequeue_turns(text, bigint, bigint, bigint, text[], integer, text[]);
