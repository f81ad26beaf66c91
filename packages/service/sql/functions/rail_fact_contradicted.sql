-- The exceptions that `rail_fact_contradict` has made in this transaction and nobody has asked for yet. It acts as the system, too.
create or replace function {{schema}}.rail_fact_contradicted() returns table (id text, kind text, rail text) language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_system constant text := coalesce(current_setting('outlay.system', true), '');
  v_ids constant text := coalesce(current_setting('outlay.contradicted', true), '');
begin
  if v_ids = '' then
    return;
  end if;
  perform set_config('outlay.contradicted', '', true), set_config('outlay.system', 'on', true);
  return query select f.id, f.kind, f.rail from {{schema}}.rail_fact f where f.id = any (string_to_array(v_ids, ','));
  perform set_config('outlay.system', v_system, true);
end
$$;
