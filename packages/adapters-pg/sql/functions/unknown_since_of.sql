-- Since when the outcome of a transfer is unknown, by its row and its log. One that is claimed or deferred while it is `submitting` has an
-- attempt that nobody answered, unless that attempt registered its counterparty, which moves no money. An earlier attempt may still arrive,
-- whatever a later one was answered, and what the service accepted under an id that the transfer has not got is there. Never in the
-- future, where a clock that was set back leaves it: its key would seem too young for as long.
create or replace function {{schema}}.unknown_since_of(p_transfer {{schema}}.transfer) returns timestamptz language sql volatile as $$
  select case when d.since is not null then least(d.since, clock_timestamp()) end from (
    select least(
      case when p_transfer.stage = 'submitting' and p_transfer.request #> '{destination,addressId}' is not null
        then coalesce(p_transfer.unknown_since, p_transfer.updated_at) else p_transfer.unknown_since end,
      (select min(a.claimed_at) from {{schema}}.attempt a
        where p_transfer.attempt > 0 and a.transfer_id = p_transfer.id and a.unmatched),
      (select min(a.claimed_at) from {{schema}}.attempt a
        where p_transfer.attempt > 0 and a.transfer_id = p_transfer.id and {{schema}}.may_still_arrive(a, p_transfer))) as since
  ) d
$$;
