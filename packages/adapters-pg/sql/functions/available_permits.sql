-- How many more submissions an account may begin now; null for no limit. `since` is when its saved-up time starts.
-- Transfers of `p_without` do not count as under way: the caller asks about them. The caller has locked the account's throttle.
create or replace function {{schema}}.available_permits(p_account_id text, p_without text[])
returns table (permits integer, since timestamptz, rate double precision, concurrency integer) language sql as $$
  select
    least(
      case
        when n.throttled_until > n.at then 0
        when n.rate is null then null
        when n.since > n.at then 0
        else floor(least(2147483647, extract(epoch from n.at - n.since)::double precision * n.rate + 1.000001))::integer
      end,
      case when n.concurrency is not null then n.concurrency - (
        select count(*)::integer from {{schema}}.submission_slot s
        join {{schema}}.transfer t on t.id = s.transfer_id and t.stage = 'submitting'
        where s.account_id = p_account_id and s.transfer_id <> all (p_without)
      ) end),
    n.since, n.rate, n.concurrency
  from (
    select c.at, p.throttled_until, l.rate, f.concurrency,
      -- At one a second or slower, nothing is saved up.
      greatest(p.next_at, p.throttled_until, c.at - make_interval(secs => greatest(0, 0.25 - 1 / l.rate))) as since
    from {{schema}}.account_throttle p
    cross join (select clock_timestamp() as at) c
    left join {{schema}}.account f on f.account_id = {{schema}}.account_of(p.account_id)
    cross join lateral (select least(f.rate_per_second, p.rate) as rate) l
    where p.account_id = p_account_id
  ) n
$$;
