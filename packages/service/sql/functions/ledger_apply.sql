-- Posts one step that is not a hold. Answers 'applied' or 'repeated' (this step of this posting is there already; nothing changes).
create or replace function {{schema}}.ledger_apply(p_posting_id text, p_step text, p_lines jsonb) returns text
language plpgsql as $$
begin
  if jsonb_array_length(p_lines) > 0 and {{schema}}.ledger_apply_many(
    jsonb_build_array(jsonb_build_object('posting', p_posting_id, 'step', p_step, 'lines', p_lines))
  ) = '{}' then
    return 'repeated';
  end if;
  return 'applied';
end
$$;
