-- Writes an answer about a transfer, a JSON object with `result`, `case`, `note` and `by`, and does what it says. `p_ask` is the call that gave it; null where it came by
-- itself, and then the caller has locked the transfer. Returns what became of it: `released` where nothing holds the transfer any more, `passed` where something else does, `held`,
-- `refused`, `late` where it changed nothing, and `locked`, with nothing written, where somebody has locked the transfer.
--
-- A pass counts where it is that of the last call, and nothing has put the transfer on hold. What keeps money from leaving counts as long as screening holds the transfer, however late it is.
create or replace function {{schema}}.answer_screening(p_id text, p_job uuid, p_ask integer, p_answer jsonb, p_notify boolean)
returns text language plpgsql as $$
declare
  v_transfer {{schema}}.transfer;
  v_state {{schema}}.screening;
  v_result text := p_answer ->> 'result';
  v_is_counted boolean;
  v_last {{schema}}.screening_answer;
  v_sequence integer;
begin
  if p_ask is null then
    perform from {{schema}}.transfer t where t.id = p_id for no key update;
  else
    perform from {{schema}}.transfer t where t.id = p_id for no key update skip locked;
  end if;
  if not found then
    return 'locked';
  end if;
  -- Behind the lock: what others wrote until they unlocked it counts.
  select t.* into v_transfer from {{schema}}.transfer t where t.id = p_id;
  select s.* into v_state from {{schema}}.screening s where s.transfer_id = p_id for update;
  v_is_counted := found and v_transfer.stage = 'held' and {{schema}}.effect_of(v_transfer) = 'none'
    and (p_ask is null or not exists (select from {{schema}}.known_database d where d.fenced_since is not null))
    and case when p_ask is null or v_result = 'refuse' then true
      when v_result = 'hold' then not v_state.on_hold
      else v_state.asks = p_ask and not v_state.on_hold end;

  select a.* into v_last from {{schema}}.screening_answer a where a.transfer_id = p_id order by a.number desc limit 1;
  if not v_is_counted and v_last.result = v_result and v_last.case_id is not distinct from p_answer ->> 'case' and v_last.given_by = p_answer ->> 'by' then
    -- Said again, as webhooks are.
    return 'late';
  end if;
  insert into {{schema}}.screening_answer (transfer_id, number, result, case_id, note, given_by, counted, fingerprint)
  values (p_id, coalesce(v_last.number, 0) + 1, v_result, p_answer ->> 'case', p_answer ->> 'note', p_answer ->> 'by', v_is_counted, v_transfer.fingerprint);
  if not v_is_counted then
    return 'late';
  end if;

  if v_result = 'pass' then
    return case when {{schema}}.release_holds(p_id, p_job, (
        select jsonb_agg(jsonb_build_object('name', h.name, 'policy', h.policy)) from {{schema}}.hold h where h.transfer_id = p_id and h.name = 'screening'), p_notify)
      then 'released' else 'passed' end;
  elsif v_result = 'hold' then
    -- A pass of the call before is none of this one.
    update {{schema}}.screening s
    set on_hold = true, case_id = p_answer ->> 'case', asks = s.asks + 1, failures = 0, failing_since = null, last_error = null where s.transfer_id = p_id;
    update {{schema}}.transfer t set updated_at = clock_timestamp() where t.id = p_id;
    return 'held';
  end if;
  update {{schema}}.transfer t
  set stage = 'settled', status = 'canceled', reason = 'screening_refused', event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
  where t.id = p_id returning t.event_sequence into v_sequence;
  delete from {{schema}}.hold h where h.transfer_id = p_id;
  perform {{schema}}.queue_remove(array[p_job]);
  perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.canceled']);
  return 'refused';
end
$$;
