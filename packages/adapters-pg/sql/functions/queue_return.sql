-- Lets transfers wait again whose jobs nobody has: those that the supervision took from workers without a heartbeat, and those that
-- earlier code put into the queue. They are ready at once: a claim defers what may not be sent yet, and a time in the queue may be of a
-- clock that was set back since. Skips locked jobs. Jobs without a transfer that can be sent are removed.
create or replace function {{schema}}.queue_return() returns void language plpgsql as $$
declare
  v_job record;
begin
  for v_job in
    select j.id, j.retry_count from {{queue_table}} j
    where j.name = '{{queue}}' and j.state < 'active' and not j.blocked limit 1000 for update skip locked
  loop
    insert into {{schema}}.outbox (id, account_id, due_at, ready, fetches)
    select v_job.id, {{schema}}.gateway_account(t.gateway, t.account_id), statement_timestamp(), true, v_job.retry_count + 1 from {{schema}}.transfer t
    where t.id = {{schema}}.transfer_of_job(v_job.id) and t.stage in ('queued', 'submitting', 'awaiting_funds')
    on conflict do nothing;
    delete from {{queue_table}} j where j.name = '{{queue}}' and j.id = v_job.id;
  end loop;
end
$$;
