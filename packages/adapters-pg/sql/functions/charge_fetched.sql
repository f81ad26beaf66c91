-- Counts fetched transfers that the caller has locked, and holds those that look like another one, as a claim does, and returns those that may go. What somebody else
-- keeps locked is held by claims alone, and no claim that has it waits for a host.
create or replace function {{schema}}.charge_fetched(p_free text[], p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_is_limited boolean;
  v_is_watched boolean;
  v_busy text[];
begin
  if cardinality(p_free) = 0 then
    return p_free;
  end if;
  select exists (select from {{schema}}.sum_limit), exists (select from {{schema}}.payment_watch) into v_is_limited, v_is_watched;
  if v_is_watched then
    select array(select f from unnest(p_free) f where f <> all (h.held || h.busy)) into p_free
    from {{schema}}.hold_lookalikes(p_ids, p_jobs, array(select i from unnest(p_ids) i where i <> all (p_free))) h;
  end if;
  if v_is_limited and cardinality(p_free) > 0 then
    v_busy := {{schema}}.charge_limits(p_ids, p_jobs, array(select i from unnest(p_ids) i where i <> all (p_free)));
    p_free := array(select t.id from {{schema}}.transfer t where t.id = any (p_free) and t.id <> all (v_busy) and t.stage <> 'held');
  end if;
  if v_is_watched then
    perform {{schema}}.end_watches(p_free);
  end if;
  return p_free;
end
$$;
