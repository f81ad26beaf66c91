-- Puts transfers with all that is theirs into the tables that workers read. The caller has checked the state of the account. What waits for a permit of its account
-- or for its batch is due at once, since whoever was to wake it may have checked while it was on its way; the next claim lets wait again what has to.
create or replace function {{schema}}.move_unpack_transfers(p_account_id text, p_ids text[]) returns void language plpgsql as $$
declare
  v_table text;
  v_jobs uuid[];
  v_due_at timestamptz[];
begin
  foreach v_table in array {{schema}}.moved_tables() || array['delivery', 'outbox', 'transfer'] loop
    execute format(
      'with gone as (
        delete from {{schema}}.moved_row m where m.account_id = $1 and m.kind = %1$L and m.key = any ($2) returning m.content)
      insert into {{schema}}.%1$I
      select r.* from gone g cross join lateral jsonb_populate_recordset(null::{{schema}}.%1$I, g.content) r', v_table)
    using p_account_id, p_ids;
  end loop;
  perform {{schema}}.move_charges(p_ids, 1);
  perform {{schema}}.queue_ensure(array_agg({{schema}}.job_id(t.id)), array_agg(coalesce(t.not_before, clock_timestamp())), array_agg(t.stage = 'submitting'))
  from {{schema}}.transfer t
  where t.id = any (p_ids) and t.stage in ('queued', 'submitting', 'awaiting_funds')
    and not exists (select from {{schema}}.outbox o where o.id = {{schema}}.job_id(t.id));
  with cleared as (
    update {{schema}}.transfer t set reason = null
    where t.id = any (p_ids) and t.stage = 'queued' and t.reason in ('account_limited', 'batch_paused')
    returning t.id, t.not_before
  )
  select array_agg({{schema}}.job_id(c.id)), array_agg(c.not_before) into v_jobs, v_due_at from cleared c;
  perform {{schema}}.queue_wake(v_jobs, v_due_at, null);
end
$$;
