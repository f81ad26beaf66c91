-- True while a transfer, or a batch, is between two nodes, as this one has it. It has the rights of its owner: whoever enqueues may not read what is on its way.
create or replace function {{schema}}.is_moving(p_id text) returns boolean language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select exists (select from {{schema}}.moved_row m where m.kind = 'transfer' and m.key = p_id)
    or exists (select from {{schema}}.moved_row m where m.kind = 'batch' and m.key = p_id)
$$;
