-- Counts fetched transfers that the caller has locked, as a claim does, and returns those that may go. What somebody else keeps locked is
-- held by claims alone, and no claim that has it waits for a host.
create or replace function {{schema}}.charge_fetched(p_free text[], p_ids text[], p_jobs uuid[]) returns text[] language plpgsql as $$
declare
  v_busy text[];
begin
  if cardinality(p_free) = 0 or not exists (select from {{schema}}.sum_limit) then
    return p_free;
  end if;
  v_busy := {{schema}}.charge_limits(p_ids, p_jobs, array(select i from unnest(p_ids) i where i <> all (p_free)));
  return array(select t.id from {{schema}}.transfer t where t.id = any (p_free) and t.id <> all (v_busy) and t.stage <> 'held');
end
$$;
