-- Puts transfers with all that is theirs into the tables that workers read. The caller has checked the state of the account.
create or replace function {{schema}}.move_unpack_transfers(p_account_id text, p_ids text[]) returns void language plpgsql as $$
declare
  v_table text;
begin
  foreach v_table in array {{schema}}.moved_tables() || array['delivery', 'outbox', 'transfer'] loop
    execute format(
      'with gone as (
        delete from {{schema}}.moved_row m where m.account_id = $1 and m.kind = %1$L and m.key = any ($2) returning m.content)
      insert into {{schema}}.%1$I
      select r.* from gone g cross join lateral jsonb_populate_recordset(null::{{schema}}.%1$I, g.content) r', v_table)
    using p_account_id, p_ids;
  end loop;
  perform {{schema}}.queue_ensure(array_agg({{schema}}.job_id(t.id)), array_agg(coalesce(t.not_before, clock_timestamp())), array_agg(t.stage = 'submitting'))
  from {{schema}}.transfer t
  where t.id = any (p_ids) and t.stage in ('queued', 'submitting', 'awaiting_funds')
    and not exists (select from {{schema}}.outbox o where o.id = {{schema}}.job_id(t.id));
end
$$;
