-- Makes due what was held while these gateways were stopped, whatever else it waited for before that. A hold is at most 375 seconds, so what
-- waits for longer was not held; what was to wait for less than that is tried once too early. Returns how many it made due.
create or replace function {{schema}}.wake_started(p_names text[]) returns integer language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_names text[] := array(
    select g.name from {{schema}}.started_gateway g
    where g.name = any (p_names) and not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = g.name)
    order by 1 for update skip locked);
  v_jobs uuid[];
  v_due_at timestamptz[];
begin
  if cardinality(v_names) = 0 then
    return 0;
  end if;
  select array_agg(w.id), array_agg(w.not_before) into v_jobs, v_due_at from (
    select o.id, t.not_before from {{schema}}.outbox o join {{schema}}.transfer t on t.id = {{schema}}.transfer_of_job(o.id)
    where not o.ready and o.due_at <= v_now + interval '375 seconds' and o.due_at > greatest(v_now, t.not_before)
      and {{schema}}.gateway_of(o.account_id) = any (v_names) and t.stage = 'queued'
    order by o.due_at limit 5000) w;
  if coalesce(cardinality(v_jobs), 0) < 5000 then
    delete from {{schema}}.started_gateway g where g.name = any (v_names);
  end if;
  return {{schema}}.queue_wake_unlocked(v_jobs, v_due_at);
end
$$;
