-- Removes the id at the service from a transfer, since a person says that it belongs to another one. What became of this transfer
-- is then for a person to find out. A settled transfer stays settled, and is unconfirmed: nobody can resolve it here, and every subscriber
-- that handled its end must be notified. The caller gives the id to the other one.
create or replace function {{schema}}.release_remote_id(p_id text, p_evidence text, p_actor text) returns void language plpgsql as $$
declare
  v_sequence integer;
  v_type text;
begin
  with changed as (
    update {{schema}}.transfer t
    set remote_id = null, reason = 'remote_id_taken', next_poll_at = null,
        stage = case when t.stage = 'settled' then 'settled' else 'blocked' end,
        status = case when t.stage = 'settled' then t.status else 'pending' end,
        failure = case when t.stage = 'settled' then t.failure end,
        unknown_since = case when t.stage <> 'settled' then {{schema}}.first_request_at(t) end,
        attempt = t.attempt + 1, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = p_id returning t.id, t.attempt, t.event_sequence, t.stage
  ), logged as (
    insert into {{schema}}.attempt (transfer_id, attempt, worker, answered_at, outcome, detail)
    select c.id, c.attempt, 'resolve' || coalesce(' by ' || p_actor, ''), clock_timestamp(), 'id_taken', p_evidence from changed c
  ), closed as (
    -- What comes back under that id is the other one's.
    delete from {{schema}}.return_window w where w.transfer_id = p_id
  ), forgotten as (
    delete from {{schema}}.transfer_return r where r.transfer_id = p_id and r.sequence is null and r.resolved_at is null
  ), unreported as (
    delete from {{schema}}.return_report p where p.transfer_id = p_id
  )
  select c.event_sequence, case when c.stage = 'settled' then 'transfer.unconfirmed' else 'transfer.blocked' end
  into v_sequence, v_type from changed c;
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array[v_type]);
end
$$;
