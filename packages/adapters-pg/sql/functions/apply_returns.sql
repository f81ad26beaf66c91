-- Decides about the returns of these transfers that wait: each becomes an event of its transfer, or is held with a reason. Those of a
-- transfer that may still become complete go on waiting. Without a person no more comes back than was asked for, and no more than was paid: an amount that a gateway
-- reports in another unit than its transfers raises nothing. The caller has locked the transfers. Returns what was decided.
create or replace function {{schema}}.apply_returns(p_ids text[])
returns table (id text, code text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_return record;
  v_sequence integer;
  v_ids text[] := '{}';
  v_sequences integer[] := '{}';
begin
  for v_return in
    select r.transfer_id, r.identity, r.code, r.amount, r.currency, t.status,
      least({{schema}}.amount_of(t.paid -> 'amount'), {{schema}}.amount_of(t.request -> 'amount')) as whole, t.request -> 'amount' ->> 'currency' as whole_currency
    from {{schema}}.transfer_return r join {{schema}}.transfer t on t.id = r.transfer_id
    where r.transfer_id = any (p_ids) and r.sequence is null and r.problem is null and t.stage = 'settled'
    order by r.transfer_id, r.occurred_at, r.identity
  loop
    id := v_return.transfer_id;
    code := v_return.code;
    problem := case
      when v_return.status <> 'complete' then 'not_complete'
      when (v_return.amount > 0) is not true then 'amount_unknown'
      when v_return.currency is distinct from v_return.whole_currency then 'other_currency'
      -- Parts may come back one after the other.
      when (v_return.amount + (
        select coalesce(sum(x.amount), 0) from {{schema}}.transfer_return x
        where x.transfer_id = v_return.transfer_id and x.sequence is not null) <= v_return.whole) is not true then 'exceeds_transfer'
    end;
    v_sequence := null;
    if problem is null then
      update {{schema}}.transfer t set event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
      where t.id = v_return.transfer_id returning t.event_sequence into v_sequence;
      v_ids := v_ids || v_return.transfer_id;
      v_sequences := v_sequences || v_sequence;
    end if;
    update {{schema}}.transfer_return r set sequence = v_sequence, problem = apply_returns.problem
    where r.transfer_id = v_return.transfer_id and r.identity = v_return.identity;
    return next;
  end loop;
  if cardinality(v_ids) > 0 then
    perform {{schema}}.record_events(v_ids, v_sequences, array_fill('transfer.returned'::text, array[cardinality(v_ids)]));
  end if;
end
$$;
