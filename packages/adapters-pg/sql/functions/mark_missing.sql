-- Marks submitted transfers that the service does not know by the ids that it gave them. A transfer that every reading missed for
-- p_patience_ms is flagged, once: the service has lost it, perhaps by a fail-over, and only a person can say what was paid. It is
-- still polled, since a service may find again what it lost. This does not wait for a host's lock: the next reading comes.
create or replace function {{schema}}.mark_missing(p_ids text[], p_patience_ms integer) returns setof text language plpgsql as $$
declare
  v_ids text[];
  v_sequences integer[];
begin
  with free as (
    select t.id from {{schema}}.transfer t
    where t.id = any (p_ids) and t.stage = 'submitted' and t.reason is distinct from 'missing_at_service'
    order by t.id for no key update skip locked
  ), marked as (
    update {{schema}}.transfer t set unknown_since = clock_timestamp(), reason = null from free f where t.id = f.id and t.unknown_since is null
  ), flagged as (
    update {{schema}}.transfer t
    set reason = 'missing_at_service', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    from free f
    where t.id = f.id and t.unknown_since <= clock_timestamp() - p_patience_ms * interval '1 millisecond'
    returning t.id, t.event_sequence
  )
  select array_agg(f.id), array_agg(f.event_sequence) into v_ids, v_sequences from flagged f;
  if v_ids is not null then
    perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.missing'::text, array[cardinality(v_ids)]));
  end if;
  return query select unnest(v_ids);
end
$$;
