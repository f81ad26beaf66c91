-- Whether a person has given the wire of a transfer to another one, and it has got none since. Facts are the system's, and who asks may be a client.
create or replace function {{schema}}.transfer_lost_wire(p_transfer_id text) returns boolean language plpgsql stable strict
  set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_before constant text := coalesce(current_setting('outlay.system', true), '');
  v_lost boolean;
begin
  perform set_config('outlay.system', 'on', true);
  select coalesce(bool_or(f.payload ? 'lostAt') and not bool_or(f.applied_at is not null), false) into v_lost
    from {{schema}}.rail_fact f
   where f.transfer_id = p_transfer_id and f.kind in ('accepted', 'settled');
  perform set_config('outlay.system', v_before, true);
  return v_lost;
end
$$;
