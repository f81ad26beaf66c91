-- The newest other transfer of the account to one of these payees, of the same amount in one of these currencies, that was enqueued between two times and has not
-- failed or been canceled; no row where there is none. One that it is enqueued in place of is none, nor is one with its key, which it repeats.
--
-- For a transfer that is about to be sent, with the time of its enqueue: one that was enqueued before it, and one that went before it, whenever it was enqueued.
-- One whose counterparty was registered alone has not gone yet, and is still watched. Of one call the later ones are held for the first, which does not wait for them.
create or replace function {{schema}}.find_lookalike(
  p_id text, p_account_id text, p_key text, p_refs text[], p_gateways text[], p_amount numeric, p_currencies text[], p_from timestamptz, p_to timestamptz,
  p_enqueued_at timestamptz
) returns table (id text, at timestamptz) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
begin
  return query
  select x.id, x.created_at
  from unnest(p_refs, p_gateways) as r (ref, gateway)
  cross join lateral (
    select t.id, t.created_at from {{schema}}.transfer t
    where {{schema}}.payment_ref(t.request) = r.ref and t.account_id = p_account_id and {{schema}}.amount_of(t.request -> 'amount') = p_amount
      and t.created_at between p_from and p_to and (r.gateway = '' or t.gateway = r.gateway or r.gateway in (select {{schema}}.payment_chain(t.id, r.ref)))
      and t.status not in ('failed', 'canceled') and t.request #>> '{amount,currency}' = any (p_currencies)
      and t.id <> p_id and t.idempotency_key <> p_key
      and not exists (select from {{schema}}.resubmission s where s.transfer_id = t.id and s.successor_id = p_id)
      and (p_enqueued_at is null
        or t.attempt > 0 and not exists (select from {{schema}}.payment_watch w where w.transfer_id = t.id)
        or (t.created_at, t.id) < (p_enqueued_at, p_id) and (t.stage <> 'held' or t.created_at < p_enqueued_at))
    order by t.created_at desc limit 1
  ) x
  order by x.created_at desc, x.id limit 1;
end
$$;
