-- Ends the holds by sums of transfers that others hold, too: the claim counts them when those have let them go. One that somebody has locked stays.
create or replace function {{schema}}.end_sums(p_ids text[]) returns void language plpgsql as $$
declare
  v_id text;
begin
  foreach v_id in array p_ids loop
    begin
      delete from {{schema}}.hold h where h.transfer_id = v_id and h.counter is not null;
      perform {{schema}}.release_holds(v_id, {{schema}}.job_id(v_id), '[]', false);
    exception when lock_not_available then
      null;
    end;
  end loop;
end
$$;
