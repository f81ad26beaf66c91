-- Ends held transfers as failed whose time to be sent has passed, as a worker ends queued ones; returns how many. One that somebody has locked, and one that
-- may have an effect, is passed over, and behind the fence all are: what was held in the backup may have been released and paid since.
create or replace function {{schema}}.expire_held(p_limit integer) returns integer language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with due as materialized (
    select t.id from {{schema}}.transfer t
    where t.stage = 'held' and t.status = 'pending' and t.expires_at <= (select clock_timestamp()) and t.id in (select h.transfer_id from {{schema}}.hold h)
      and {{schema}}.effect_of(t) = 'none'
      and not exists (select from {{schema}}.known_database h where h.fenced_since is not null)
    order by t.expires_at limit p_limit for no key update of t skip locked
  ), ended as (
    update {{schema}}.transfer t
    set stage = 'settled', status = 'failed', reason = null, event_sequence = t.event_sequence + 1, updated_at = clock_timestamp(),
      failure = jsonb_build_object('type', 'expired', 'code', 'expired', 'occurredAt', {{schema}}.iso(clock_timestamp()), 'retriable', false,
        'detail', 'The transfer was held until ' || {{schema}}.iso(t.expires_at) || ', after which the host did not want it any more.')
    from due d where t.id = d.id
    returning t.id, t.event_sequence
  )
  select array_agg(e.id), array_agg(e.event_sequence) into v_ids, v_sequences from ended e;
  if v_ids is null then
    return 0;
  end if;
  delete from {{schema}}.hold h where h.transfer_id = any (v_ids);
  perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.failed'::text, array[cardinality(v_ids)]));
  return cardinality(v_ids);
end
$$;
