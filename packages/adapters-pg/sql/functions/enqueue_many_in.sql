-- What code that knows no policies calls. Where there are some, what it enqueues is held: nobody has judged it. It never returns `stale`, which that
-- code would take for written.
create or replace function {{schema}}.enqueue_many_in(
  p_ids text[], p_jobs uuid[], p_account_ids text[], p_keys text[], p_fingerprints text[], p_requests text[],
  p_notify boolean, p_not_before text[], p_expires_at text[], p_environments text[], p_gateways text[], p_batches text[]
) returns table (written boolean, at text, stored_position integer) language plpgsql as $$
declare
  v_tag text := (select p.tag from {{schema}}.policy_state p);
  v_holds text := case when v_tag is null then '' else {{schema}}.unjudged_holds()::text end;
  v_row record;
  v_is_stale boolean;
begin
  loop
    v_is_stale := false;
    for v_row in
      select * from {{schema}}.enqueue_many_judged(p_ids, p_jobs, p_account_ids, p_keys, p_fingerprints, p_requests, p_notify, p_not_before,
        p_expires_at, p_environments, p_gateways, p_batches, array_fill(v_holds, array[cardinality(p_ids)]), v_tag)
    loop
      v_is_stale := v_row.at is not distinct from 'stale';
      exit when v_is_stale;
      return query select v_row.written, v_row.at, v_row.stored_position;
    end loop;
    exit when not v_is_stale;
    v_tag := (select p.tag from {{schema}}.policy_state p);
    v_holds := {{schema}}.unjudged_holds()::text;
  end loop;
end
$$;
