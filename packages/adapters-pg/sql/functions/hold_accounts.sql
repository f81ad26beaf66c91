-- Lets wait what accounts at stopped gateways have ready, as hold_gateways() does with what was fetched of them: one by one, each would
-- cost a fetch and a claim. At most a thousand at once, so that others are claimed soon; the next that is fetched brings the rest. It
-- waits for no lock, and passes over what waits for something else.
create or replace function {{schema}}.hold_accounts(p_accounts text[]) returns void language plpgsql as $$
declare
  v_ready uuid[];
  v_held text[];
begin
  v_ready := array(
    select l.id from unnest(p_accounts) as n (account_id)
    cross join lateral (
      select w.id from {{schema}}.outbox w
      where w.ready and w.account_id between n.account_id and n.account_id order by w.account_id, w.id limit 1000
    ) c
    cross join lateral (select w.id from {{schema}}.outbox w where w.id = c.id and w.ready for update skip locked) l
    limit 1000);
  if cardinality(v_ready) = 0 then
    return;
  end if;
  v_held := array(
    select t.id from {{schema}}.transfer t
    where t.id = any (array(select {{schema}}.transfer_of_job(r.id) from unnest(v_ready) as r (id)))
      and t.stage = 'queued' and coalesce(t.reason, 'gateway_held') = 'gateway_held'
      and exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway)
    for no key update of t skip locked);
  -- One that was held before has waited since then.
  update {{schema}}.transfer t set reason = 'gateway_held', updated_at = clock_timestamp() where t.id = any (v_held) and t.reason is null;
  update {{schema}}.outbox o
  set due_at = clock_timestamp() + least(300, 5 * power(2, least(o.fetches, 10))) * (0.75 + random() / 2) * interval '1 second',
    ready = false, fetches = o.fetches + 1
  where o.id = any (array(select {{schema}}.job_id(h.id) from unnest(v_held) as h (id)));
end
$$;
