-- Since when the outcome of a transfer is unknown. One that is claimed or deferred while it is `submitting` has an attempt that nobody
-- answered, unless that attempt registered its counterparty, which moves no money. Never in the future, where a clock that was set
-- back leaves it: its key would seem too young for as long.
create or replace function {{schema}}.unknown_since_of(p_transfer {{schema}}.transfer) returns timestamptz language sql volatile as $$
  select case
    when p_transfer.stage = 'submitting' and p_transfer.request #> '{destination,addressId}' is not null
      then least(coalesce(p_transfer.unknown_since, p_transfer.updated_at), clock_timestamp())
    when p_transfer.unknown_since is not null then least(p_transfer.unknown_since, clock_timestamp()) end
$$;
