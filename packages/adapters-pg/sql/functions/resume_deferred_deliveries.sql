-- Makes every delivery due that was deferred and has not failed.
create or replace function {{schema}}.resume_deferred_deliveries(p_subscription text) returns void language sql as $$
  update {{schema}}.delivery d set ready = true, due_at = clock_timestamp()
  where (d.subscription, d.transfer_id, d.sequence) in (
    select l.subscription, l.transfer_id, l.sequence from {{schema}}.delivery l
    where l.subscription = p_subscription and not l.ready and l.failures = 0 and not l.dead for no key update skip locked)
$$;
