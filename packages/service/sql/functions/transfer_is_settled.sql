-- Whether a rail has reported that the payment of a transfer is settled: a fact says so that was applied or is open. Facts are the system's, and who cancels is
-- a client.
create or replace function {{schema}}.transfer_is_settled(p_transfer_id text) returns boolean
language plpgsql stable strict as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
  v_settled boolean;
begin
  perform set_config('outlay.system', 'on', true);
  v_settled := exists (
    select from {{schema}}.rail_fact f
     where f.transfer_id = p_transfer_id and f.kind = 'settled' and f.resolution is distinct from 'dismissed'
       and (f.exception_reason is null or {{schema}}.is_of_transfer(f.exception_reason))
  );
  perform set_config('outlay.system', v_before, true);
  return v_settled;
end
$$;
