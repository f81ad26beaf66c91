-- Decides about a return that is held, as a person says: `p_amount` of `p_currency` came back, and it becomes an event of its transfer, or, where
-- the amount is null, it is dismissed and no handler gets it. Without a currency the amount is in that of the transfer, unless the service
-- has reported another one. At most what was paid comes back; of a transfer whose amount cannot be read the person alone knows how much that was. Returns null, or why not: `not_held`, `not_complete`, `other_currency`, `exceeds_transfer`.
create or replace function {{schema}}.resolve_return(
  p_id text, p_identity text, p_amount numeric, p_currency text, p_reason text, p_actor text)
returns text language plpgsql as $$
declare
  v_status text;
  v_whole numeric;
  v_currency text;
  v_reported text;
  v_sequence integer;
begin
  select t.status, {{schema}}.amount_of(coalesce(t.paid -> 'amount', t.request -> 'amount')), t.request -> 'amount' ->> 'currency' into v_status, v_whole, v_currency
  from {{schema}}.transfer t where t.id = p_id for no key update;
  select coalesce(r.currency, v_currency) into v_reported from {{schema}}.transfer_return r
  where r.transfer_id = p_id and r.identity = p_identity and r.problem is not null and r.resolved_at is null;
  if not found then
    return 'not_held';
  end if;
  if p_amount is not null then
    if v_status <> 'complete' then
      return 'not_complete';
    end if;
    if coalesce(p_currency, v_reported) <> v_currency then
      return 'other_currency';
    end if;
    if p_amount + (
      select coalesce(sum(x.amount), 0) from {{schema}}.transfer_return x where x.transfer_id = p_id and x.sequence is not null) > v_whole then
      return 'exceeds_transfer';
    end if;
    update {{schema}}.transfer t set event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
    where t.id = p_id returning t.event_sequence into v_sequence;
  end if;
  update {{schema}}.transfer_return r set
    resolved_at = clock_timestamp(), resolved_by = p_actor, resolution_note = p_reason, sequence = v_sequence,
    problem = case when p_amount is null then r.problem end,
    amount = coalesce(p_amount, r.amount), currency = case when p_amount is null then r.currency else v_currency end
  where r.transfer_id = p_id and r.identity = p_identity;
  if v_sequence is not null then
    perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.returned']);
  end if;
  return null;
end
$$;
