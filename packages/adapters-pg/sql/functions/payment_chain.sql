-- The gateways at which those were that a transfer was enqueued in place of, one after the other, for as long as they call their payee by the same id: who hands a
-- transfer over passes on an id that both gateways know.
create or replace function {{schema}}.payment_chain(p_id text, p_ref text) returns setof text language sql stable as $$
  with recursive chain (id, gateway) as (
    select o.id, o.gateway from {{schema}}.resubmission r join {{schema}}.transfer o on o.id = r.transfer_id
    where r.successor_id = p_id and {{schema}}.payment_ref(o.request) = p_ref
    union
    select o.id, o.gateway from chain c join {{schema}}.resubmission r on r.successor_id = c.id join {{schema}}.transfer o on o.id = r.transfer_id
    where {{schema}}.payment_ref(o.request) = p_ref
  )
  select c.gateway from chain c
$$;
