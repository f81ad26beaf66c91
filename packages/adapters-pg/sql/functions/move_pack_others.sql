-- Takes out what move_pack() finds in another way than by a column of the transfer: deliveries, what waits to be sent, and archived history.
create or replace function {{schema}}.move_pack_others(p_account_id text, p_ids text[]) returns void language plpgsql as $$
declare
  v_jobs uuid[] := array(select {{schema}}.job_id(i.id) from unnest(p_ids) as i (id));
begin
  with gone as (
    delete from {{schema}}.delivery d using {{schema}}.subscription s where d.subscription = s.name and d.transfer_id = any (p_ids) returning d.*
  )
  insert into {{schema}}.moved_row (account_id, kind, key, content)
  select p_account_id, 'delivery', g.transfer_id, jsonb_agg(to_jsonb(g)) from gone g group by g.transfer_id;
  delete from {{schema}}.submission_slot s where s.transfer_id = any (p_ids);
  with gone as (
    delete from {{schema}}.outbox o where o.id = any (v_jobs) returning o.*
  )
  insert into {{schema}}.moved_row (account_id, kind, key, content)
  select p_account_id, 'outbox', {{schema}}.transfer_of_job(g.id), jsonb_build_array(to_jsonb(g)) from gone g;
  -- A fetch may have made one of it a moment ago.
  perform {{schema}}.queue_remove(v_jobs);

  -- Each page is read once. What stays in it belongs to no transfer here any more.
  with page as materialized (
    select h.key as id, h.value as history from {{schema}}.archive a cross join lateral jsonb_each(a.history) h
    where a.page in (select t.archive_page from {{schema}}.transfer t where t.id = any (p_ids) and t.archive_page is not null)
  )
  insert into {{schema}}.moved_row as m (account_id, kind, key, content)
  select p_account_id, k.kind, p.id, p.history -> (k.kind || 's') from page p
  join {{schema}}.transfer t on t.id = p.id and t.id = any (p_ids)
  cross join (values ('attempt'), ('event')) as k (kind)
  where jsonb_array_length(p.history -> (k.kind || 's')) > 0
  on conflict (account_id, kind, key) do update set content = m.content || excluded.content;
end
$$;
