-- Writes an answer about one transfer, a JSON object with `result`, `case`, `note` and `by`, as write_screening_answers() does. `p_ask` is the call that gave it; null where it came by
-- itself, and then the caller has locked the transfer. Returns what became of it, and `locked`, with nothing written, where somebody has locked the transfer.
create or replace function {{schema}}.answer_screening(p_id text, p_job uuid, p_ask integer, p_answer jsonb, p_notify boolean)
returns text language plpgsql as $$
begin
  if p_ask is null then
    perform from {{schema}}.transfer t where t.id = p_id for no key update;
  else
    perform from {{schema}}.transfer t where t.id = p_id for no key update skip locked;
  end if;
  if not found then
    return 'locked';
  end if;
  return ({{schema}}.write_screening_answers(jsonb_build_array(p_answer || jsonb_build_object('id', p_id, 'ask', p_ask)), p_notify))[1];
end
$$;
