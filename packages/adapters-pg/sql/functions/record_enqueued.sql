-- Writes the rows in the outbox of enqueued transfers, and their first events where a subscription wants them: for those of `p_written`, or
-- for all when it is null. Those of `p_held` get no row in the outbox.
create or replace function {{schema}}.record_enqueued(
  p_written text[], p_ids text[], p_jobs uuid[], p_account_ids text[], p_not_before text[], p_at timestamptz,
  p_held text[]
) returns void language plpgsql as $$
begin
  if exists (select from {{schema}}.subscription s where s.types @> array['transfer.enqueued']) then
    perform {{schema}}.record_first_events(coalesce(p_written, p_ids), p_at);
  end if;
  perform {{schema}}.queue_put_many(array_agg(n.job), array_agg(n.account_id),
    array_agg(coalesce(nullif(n.not_before, '')::timestamptz, p_at)), p_at)
  from unnest(p_ids, p_jobs, p_account_ids, p_not_before) as n (id, job, account_id, not_before)
  where (p_written is null or n.id = any (p_written)) and (p_held is null or n.id <> all (p_held));
end
$$;
-- Earlier code calls it through functions that have been replaced by now.
drop function if exists {{schema}}.record_enqueued(text[], text[], uuid[], text[], text[], timestamptz);
