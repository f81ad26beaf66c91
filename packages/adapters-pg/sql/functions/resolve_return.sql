-- Decides about a return that is held, as a person says: `p_amount` came back, and it becomes an event of its transfer, or, where that is
-- null, it is dismissed and no handler gets it. `p_identity` may be null when the transfer has one held return. Returns null, or why not:
-- `not_held`, `several`, `not_complete`, `exceeds_transfer`.
create or replace function {{schema}}.resolve_return(p_id text, p_identity text, p_amount numeric, p_reason text, p_actor text)
returns text language plpgsql as $$
declare
  v_status text;
  v_whole numeric;
  v_currency text;
  v_identities text[];
  v_sequence integer;
begin
  select t.status, (t.request -> 'amount' ->> 'value')::numeric, t.request -> 'amount' ->> 'currency' into v_status, v_whole, v_currency
  from {{schema}}.transfer t where t.id = p_id for no key update;
  v_identities := array(
    select r.identity from {{schema}}.transfer_return r
    where r.transfer_id = p_id and r.problem is not null and r.resolved_at is null and (p_identity is null or r.identity = p_identity)
    order by r.identity limit 2);
  if cardinality(v_identities) <> 1 then
    return case when cardinality(v_identities) = 0 then 'not_held' else 'several' end;
  end if;
  if p_amount is not null then
    if v_status <> 'complete' then
      return 'not_complete';
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
  where r.transfer_id = p_id and r.identity = v_identities[1];
  if v_sequence is not null then
    perform {{schema}}.record_events(array[p_id], array[v_sequence], array['transfer.returned']);
  end if;
  return null;
end
$$;
