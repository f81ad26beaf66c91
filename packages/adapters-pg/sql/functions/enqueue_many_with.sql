-- The same as enqueue_many_to, with what is stored beside each transfer, as JSON: {"metadata": {…}}, or an empty text for nothing.
create or replace function {{schema}}.enqueue_many_with(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_beside text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
#variable_conflict use_column
declare
  v_row record;
  v_written boolean := false;
  v_stored integer[] := '{}';
begin
  for v_row in
    select * from {{schema}}.enqueue_many_to(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify, p_not_before,
      p_expires_at, p_environments, p_gateways)
  loop
    v_written := v_written or v_row.at is not null;
    v_stored := v_stored || v_row.stored_position;
    return query select v_row.written, v_row.at, v_row.stored_position;
  end loop;
  if v_written then
    insert into {{schema}}.transfer_metadata (transfer_id, name, value)
    select n.id, e.key, e.value
    from unnest(p_ids, p_beside) with ordinality as n (id, beside, position)
    cross join lateral jsonb_each_text(nullif(n.beside, '')::jsonb -> 'metadata') as e (key, value)
    where n.beside <> '' and n.position <> all (array_remove(v_stored, null));
  end if;
end
$$;
