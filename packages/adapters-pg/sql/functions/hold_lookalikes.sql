-- Holds those of the transfers that look like another one by now, where a policy has them compared before they are sent: an enqueue does not see what a transaction
-- that is still open has written. Claims that compare the same payment take turns, by locks of the account, the payee and the amount that last until they commit: so
-- the second one sees the first. A payee has a lock for its address, for what limits call it, and for the details that it was given by. It waits for none of them.
-- Returns what is held, and what comes again soon since somebody else has its lock, since its account moves, or since a claim has as many locks as it may: the
-- server has a few thousand for all.
--
-- One whose request may have left is not compared, nor is one whose counterparty is not registered yet: that moves no money. The caller has locked the transfers.
create or replace function {{schema}}.hold_lookalikes(p_ids text[], p_jobs uuid[], p_without text[], out held text[], out busy text[]) language plpgsql as $$
#variable_conflict use_column
declare
  n record;
  v_policies text[];
  v_words text[];
  v_held_at integer[];
  v_compared integer := 0;
  v_is_ready boolean := {{schema}}.has_payment_indexes();
begin
  held := '{}'; busy := '{}';
  for n in
    select t.id, t.account_id, t.gateway, t.idempotency_key, t.created_at, t.request #>> '{destination,addressId}' as address_id,
      t.request #>> '{destination,address,fingerprint}' as fingerprint, {{schema}}.amount_of(t.request -> 'amount') as amount, {{schema}}.limit_payee(t) as payee
    from {{schema}}.transfer t
    where t.id = any (p_ids) and t.id <> all (p_without) and t.stage in ('queued', 'submitting', 'awaiting_funds')
      and t.request #> '{destination,addressId}' is not null and exists (select from {{schema}}.payment_watch w where w.transfer_id = t.id)
      and {{schema}}.effect_of(t) = 'none'
    order by t.id
  loop
    -- What it looks like may be on its way between two nodes. The payee may have become known since another claim took the lock of the address; and where it is not, the same details have another address at another gateway.
    if v_compared >= 40 or exists (select from {{schema}}.departed_account d where d.account_id = n.account_id and d.state in ('leaving', 'returning', 'unpacking')) or exists (
      select from unnest(array_remove(array[n.address_id, n.payee, n.fingerprint], null)) r (ref) where not pg_try_advisory_xact_lock(hashtextextended(format('outlay payment %s %s %s %s', '{{schema}}', n.account_id, trim_scale(n.amount), r.ref), 0))) then
      busy := busy || n.id;
      continue;
    end if;
    v_compared := v_compared + 1;
    -- Behind the lock, so that it sees what the one before has claimed.
    with known as materialized (
      select r.refs, r.gateways
      from {{schema}}.payment_refs(n.account_id, n.gateway, n.address_id, n.fingerprint, (
        select c.payee from {{schema}}.counterparty c where c.address_id = n.address_id and c.payee is not null
        order by c.account_id = {{schema}}.gateway_account(n.gateway, n.account_id) desc, c.payee limit 1), n.id) r
      where v_is_ready
    ), compared as (
      select w.policy, case when not v_is_ready then 'What was paid before is not known: "outlay policies prepare" has not run here.'
        else (
          select format('It looks like the transfer %s of %s: the account, the counterparty and the amount are the same.', l.id, {{schema}}.iso(l.at))
          from known k cross join lateral {{schema}}.find_lookalike(n.id, n.account_id, n.idempotency_key, k.refs, k.gateways, n.amount, w.currencies,
            n.created_at - make_interval(days => w.days), n.created_at + make_interval(days => w.days), n.created_at) l) end as words
      from {{schema}}.payment_watch w where w.transfer_id = n.id
    )
    select array_agg(c.policy), array_agg(c.words) into v_policies, v_words from compared c where c.words is not null;
    continue when v_policies is null;
    with ended as (
      delete from {{schema}}.payment_watch w using unnest(v_policies, v_words) as c (policy, words)
      where w.transfer_id = n.id and w.policy = c.policy returning w.*, c.words
    )
    insert into {{schema}}.hold (transfer_id, name, policy, policy_version, why, requirement)
    select e.transfer_id, e.name, e.policy, e.policy_version, concat(e.why, case when e.why !~ '[.!?]$' then '.' end, ' ', e.words), e.requirement from ended e
    on conflict do nothing;
    held := held || n.id;
  end loop;
  if cardinality(held) > 0 then
    with changed as (
      update {{schema}}.transfer t
      set stage = 'held', reason = (select min(h.name) from {{schema}}.hold h where h.transfer_id = t.id), event_sequence = t.event_sequence + 1,
        updated_at = clock_timestamp()
      where t.id = any (held)
      returning t.id, t.event_sequence
    )
    select array_agg(c.id), array_agg(c.event_sequence) into held, v_held_at from changed c;
    delete from {{schema}}.submission_slot s where s.transfer_id = any (held);
    perform {{schema}}.queue_remove(array(select {{schema}}.job_id(i.id) from unnest(held) as i (id)));
    perform {{schema}}.record_events(held, v_held_at, array_fill('transfer.held'::text, array[cardinality(held)]));
  end if;
  perform {{schema}}.queue_defer(array_agg(j.job), array_agg(clock_timestamp() + interval '5 seconds' * (1 + random())))
  from unnest(p_ids, p_jobs) as j (id, job) where j.id = any (busy) having count(*) > 0;
end
$$;
