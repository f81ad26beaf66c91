-- True when the service accepted the transfer in an answer that came too late for it, and the transfer has not got that id since: its
-- money may have moved, whatever its row says.
create or replace function {{schema}}.accepted_late(p_transfer {{schema}}.transfer) returns boolean language sql stable as $$
  select exists (
    select 1 from {{schema}}.attempt a
    where a.transfer_id = p_transfer.id and a.late
      and (p_transfer.remote_id is null or strpos(a.detail, 'accepted as ' || p_transfer.remote_id || ',') = 0))
$$;
