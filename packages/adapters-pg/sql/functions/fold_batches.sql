-- Adds up what has changed of batches, and completes those that are closed and in which everything has ended. Returns how many it completed. It waits
-- for no lock: a batch that another worker has is left to that one.
create or replace function {{schema}}.fold_batches(p_limit integer) returns integer language plpgsql
set lock_timeout = '250ms' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_id text;
  v_completed integer := 0;
begin
  for v_id in
    with recursive changed (batch_id) as (
      (select x.batch_id from {{schema}}.batch_change x order by x.batch_id limit 1)
      union all
      select (select x.batch_id from {{schema}}.batch_change x where x.batch_id > c.batch_id order by x.batch_id limit 1)
      from changed c where c.batch_id is not null
    ), wanted as materialized (
      (select c.batch_id from changed c where c.batch_id is not null limit p_limit)
      union
      select b.id from {{schema}}.batch b where b.completed_at is null
        and exists (select from {{schema}}.closed_batch c where c.batch_id = b.id)
        and not exists (select from {{schema}}.batch_count n where n.batch_id = b.id and n.unended <> 0)
    )
    select b.id from wanted w cross join lateral (
      select b.id from {{schema}}.batch b where b.id = w.batch_id offset 0) b order by b.id
  loop
    perform from {{schema}}.batch b where b.id = v_id for no key update skip locked;
    continue when not found;
    with folded as (
      delete from {{schema}}.batch_change x where x.batch_id = v_id returning x.*
    )
    insert into {{schema}}.batch_count as n
    select v_id, sum(f.pending), sum(f.processing), sum(f.failed), sum(f.canceled), sum(f.complete), sum(f.unended), sum(f.resubmitted)
    from folded f having count(*) > 0
    on conflict (batch_id) do update set pending = n.pending + excluded.pending, processing = n.processing + excluded.processing,
      failed = n.failed + excluded.failed, canceled = n.canceled + excluded.canceled, complete = n.complete + excluded.complete,
      unended = n.unended + excluded.unended, resubmitted = n.resubmitted + excluded.resubmitted;
    if exists (
      select from {{schema}}.batch b join {{schema}}.closed_batch c on c.batch_id = b.id
      where b.id = v_id and b.completed_at is null) then
      v_completed := v_completed + {{schema}}.complete_batch(v_id)::integer;
    end if;
  end loop;
  return v_completed;
end
$$;
