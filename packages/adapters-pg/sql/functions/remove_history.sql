-- Deletes the events, attempts and trace contexts of these transfers from the live tables, and returns their history as the archive keeps it.
-- Fails where a foreign key of the host refers to them.
create or replace function {{schema}}.remove_history(p_ids text[]) returns jsonb language sql as $$
  with events as (
    delete from {{schema}}.event e where e.transfer_id = any (p_ids) returning e.*
  ), attempts as (
    delete from {{schema}}.attempt a where a.transfer_id = any (p_ids) returning a.*
  ), contexts as (
    delete from {{schema}}.trace_context x where x.transfer_id = any (p_ids)
  )
  select jsonb_object_agg(i.id, jsonb_build_object('events', coalesce(e.rows, '[]'), 'attempts', coalesce(a.rows, '[]')))
  from unnest(p_ids) as i (id)
  left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.sequence) as rows from events x group by 1) e on e.transfer_id = i.id
  left join (select x.transfer_id, jsonb_agg(to_jsonb(x) order by x.attempt) as rows from attempts x group by 1) a on a.transfer_id = i.id
$$;
