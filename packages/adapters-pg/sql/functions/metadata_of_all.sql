-- The metadata of these transfers as one object by their ids; null where none has any. Volatile, so that a claim reads it as it is committed: the
-- statement around a claim may be older than a transfer. One call for all of them: a call for each starts a query for each.
create or replace function {{schema}}.metadata_of_all(p_ids text[]) returns jsonb language plpgsql volatile strict
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return (
    select jsonb_object_agg(i.id, m.metadata) from unnest(p_ids) as i (id)
    cross join lateral (select jsonb_object_agg(x.name, x.value) as metadata from {{schema}}.transfer_metadata x where x.transfer_id = i.id) m
    where m.metadata is not null);
end
$$;
