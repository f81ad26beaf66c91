-- The id of the last failure of a transfer that was tried again; null for none. What came before it is about an earlier attempt. A return of a complete
-- transfer may say that it is retriable, and ends nothing; neither does its repeat, nor a failure that is not later than a step of the payment before it:
-- that is an earlier one in other words.
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
    with steps as (
      select o.id, o.kind, o.payload #> '{failure,retriable}' = 'true'::jsonb as is_retriable,
             max({{schema}}.moment_of(o.payload ->> 'reachedAt')) filter (where o.kind in ('accepted', 'settled'))
               over (order by o.id) as reached_at,
             {{schema}}.moment_of(o.payload #>> '{failure,occurredAt}') as failed_at
        from {{schema}}.rail_fact o
       where o.transfer_id = p_transfer_id and o.kind in ('accepted', 'settled', 'rejected', 'returned') and o.applied_at is not null
    )
    select max(s.id) from steps s
     where s.kind in ('rejected', 'returned') and s.is_retriable and (v_settled is null or s.id < v_settled)
       and (v_returned is null or s.id < v_returned) and (s.failed_at <= s.reached_at) is not true
  );
end
$$;
