-- Writes the first event of enqueued transfers, its deliveries and their rows in the outbox: for those of `p_written`, or for all when it is null.
create or replace function {{schema}}.record_enqueued(
  p_written text[], p_ids text[], p_jobs uuid[], p_account_ids text[], p_not_before text[], p_at timestamptz
) returns void language plpgsql as $$
begin
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  select n.id, 1, 'transfer.enqueued', 'queued', 'pending', 0, p_at
  from unnest(p_ids) as n (id) where p_written is null or n.id = any (p_written);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
  select s.name, t.id, 1, 'transfer.enqueued', t.account_id
  from {{schema}}.subscription s, unnest(p_ids) as n (id) join {{schema}}.transfer t on t.id = n.id
  where s.types @> array['transfer.enqueued'] and (p_written is null or n.id = any (p_written));
  perform {{schema}}.queue_put_many(array_agg(n.job), array_agg(n.account_id),
    array_agg(coalesce(nullif(n.not_before, '')::timestamptz, p_at)), p_at)
  from unnest(p_ids, p_jobs, p_account_ids, p_not_before) as n (id, job, account_id, not_before)
  where p_written is null or n.id = any (p_written);
end
$$;
