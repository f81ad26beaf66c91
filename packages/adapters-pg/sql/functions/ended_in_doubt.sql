-- True of a transfer that has ended here and that a reconciliation found the like of at the service, until a person or an acceptance has
-- decided. The doubt is a line of the log without an id: the row stays as it was delivered.
create or replace function {{schema}}.ended_in_doubt(p_transfer {{schema}}.transfer) returns boolean language sql stable as $$
  select p_transfer.stage = 'settled' and p_transfer.remote_id is null and (
    select coalesce(bool_and(a.remote_id is null), false) from {{schema}}.attempt a where a.transfer_id = p_transfer.id and a.unmatched)
$$;
