-- Since when the outcome of a transfer is unknown. One that is claimed or deferred while it is `submitting` has an attempt that nobody
-- answered, unless that attempt registered its counterparty, which moves no money.
create or replace function {{schema}}.unknown_since_of(p_transfer {{schema}}.transfer) returns timestamptz language sql immutable as $$
  select case when p_transfer.stage = 'submitting' and p_transfer.request #> '{destination,addressId}' is not null
    then coalesce(p_transfer.unknown_since, p_transfer.updated_at) else p_transfer.unknown_since end
$$;
