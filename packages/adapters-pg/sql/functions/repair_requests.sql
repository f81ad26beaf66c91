-- Blocks transfers, which the caller has locked, whose request a driver has stored as a text before the database refused that: no worker could read it, so a person says
-- whether it is still wanted. The text becomes the object that it is of; what is of none is kept in one,
-- since code reads objects alone. Their jobs are deleted.
create or replace function {{schema}}.repair_requests(p_ids text[], p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_id text;
  v_request jsonb;
  v_sequences integer[] := '{}';
  v_sequence integer;
begin
  foreach v_id in array p_ids loop
    begin
      select (t.request #>> '{}')::jsonb into v_request from {{schema}}.transfer t where t.id = v_id;
    exception when data_exception then
      v_request := null;
    end;
    if jsonb_typeof(v_request) is distinct from 'object' then
      select jsonb_build_object('unreadable', t.request) into v_request from {{schema}}.transfer t where t.id = v_id;
    end if;
    update {{schema}}.transfer t
    set request = v_request, stage = 'blocked', reason = 'repaired_request',
      unknown_since = {{schema}}.unknown_since_of(t), event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = v_id returning t.event_sequence into v_sequence;
    v_sequences := v_sequences || v_sequence;
  end loop;
  delete from {{schema}}.submission_slot s where s.transfer_id = any (p_ids);
  perform {{schema}}.queue_remove_unlocked(p_jobs);
  perform {{schema}}.record_events(p_ids, v_sequences, array_fill('transfer.blocked'::text, array[cardinality(p_ids)]));
end
$$;
