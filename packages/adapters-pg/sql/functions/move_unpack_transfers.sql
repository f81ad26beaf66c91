-- Puts transfers with all that is theirs into the tables that workers read. The caller has checked the state of the account. What waits for a permit of its account
-- or for its batch is due at once, since whoever was to wake it may have checked while it was on its way; the next claim lets wait again what has to.
create or replace function {{schema}}.move_unpack_transfers(p_account_id text, p_ids text[]) returns void language plpgsql as $$
declare
  v_table text;
  v_jobs uuid[];
  v_due_at timestamptz[];
  v_double record;
begin
  -- Accepted with the id of one that was packed by then, with which nothing compared it.
  for v_double in
    select t.id, t.remote_id, m.key as first_id from {{schema}}.moved_row m
    join {{schema}}.transfer t on t.remote_id = m.content #>> '{0,remote_id}' and t.account_id = m.account_id and t.gateway = m.content #>> '{0,gateway}'
    where m.account_id = p_account_id and m.kind = 'transfer' and m.key = any (p_ids) order by t.id
  loop
    perform {{schema}}.release_remote_id(v_double.id, format('accepted as %s, which is the id of the transfer %s of the account', v_double.remote_id, v_double.first_id), null);
  end loop;
  foreach v_table in array {{schema}}.moved_tables() || array['delivery', 'outbox', 'transfer'] loop
    execute format(
      'with gone as (
        delete from {{schema}}.moved_row m where m.account_id = $1 and m.kind = %1$L and m.key = any ($2) returning m.content)
      insert into {{schema}}.%1$I
      select r.* from gone g cross join lateral jsonb_populate_recordset(null::{{schema}}.%1$I, g.content) r', v_table)
    using p_account_id, p_ids;
  end loop;
  -- The sum of a payee has another name in each database.
  update {{schema}}.hold h set scope = {{schema}}.limit_scope(l.per, t)
  from {{schema}}.sum_limit l, {{schema}}.transfer t
  where h.transfer_id = any (p_ids) and l.counter = h.counter and 'counterparty' = any (l.per) and t.id = h.transfer_id;
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
