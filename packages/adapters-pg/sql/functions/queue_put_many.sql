-- Lets new transfers wait to be sent, each from a time on.
create or replace function {{schema}}.queue_put_many(p_jobs uuid[], p_account_ids text[], p_due_at timestamptz[], p_at timestamptz)
returns void language plpgsql as $$
begin
  insert into {{schema}}.outbox (id, account_id, due_at, ready)
  select n.job, n.account_id, n.due_at, n.due_at <= p_at from unnest(p_jobs, p_account_ids, p_due_at) as n (job, account_id, due_at);
end
$$;
