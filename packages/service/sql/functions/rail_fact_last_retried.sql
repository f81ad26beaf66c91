-- The id of the last failure of a transfer that was tried again; null for none. What came before it is about an earlier attempt. A return of a complete
-- transfer may say that it is retriable, and ends nothing; neither does its repeat.
create or replace function {{schema}}.rail_fact_last_retried(p_transfer_id text) returns text language plpgsql stable
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_failure text;
  v_settled text;
  v_returned text;
begin
  select min(o.id) into v_failure from {{schema}}.rail_fact o
   where o.transfer_id = p_transfer_id and o.kind in ('rejected', 'returned') and o.applied_at is not null
     and o.payload #> '{failure,retriable}' = 'true'::jsonb;
  if v_failure is null then
    return null;
  end if;
  select min(o.id) into v_settled from {{schema}}.rail_fact o
   where o.transfer_id = p_transfer_id and o.kind = 'settled' and o.applied_at is not null;
  select min(o.id) into v_returned from {{schema}}.transfer_return o where o.transfer_id = p_transfer_id;
  return (
    select max(o.id) from {{schema}}.rail_fact o
     where o.transfer_id = p_transfer_id and o.kind in ('rejected', 'returned') and o.applied_at is not null
       and o.payload #> '{failure,retriable}' = 'true'::jsonb
       and (v_settled is null or o.id < v_settled) and (v_returned is null or o.id < v_returned)
  );
end
$$;
