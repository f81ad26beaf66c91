-- What is known of the transfers before one that is about to be enqueued, of a PaymentQuery as JSON: whether its payee is new, and which one it looks like. Null where
-- nothing is to be said. Where the query asks for that, with the payee, by a name that shows no account number.
create or replace function {{schema}}.payment_facts(p_query jsonb) returns jsonb language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_account_id text := p_query ->> 'accountId';
  v_gateway text := p_query ->> 'gateway';
  v_address_id text := p_query ->> 'addressId';
  v_payee text := p_query ->> 'payee';
  v_refs text[];
  v_gateways text[];
  v_new jsonb := '{}';
  v_lookalike jsonb;
  v_names_payee boolean := (p_query ->> 'namesPayee')::boolean;
begin
  if v_payee is null then
    select c.payee into v_payee from {{schema}}.counterparty c where c.address_id = v_address_id and c.payee is not null
    order by c.account_id = {{schema}}.gateway_account(v_gateway, v_account_id) desc, c.payee limit 1;
  end if;
  select r.refs, r.gateways into v_refs, v_gateways
  from {{schema}}.payment_refs(v_account_id, v_gateway, v_address_id, p_query ->> 'fingerprint', v_payee, p_query ->> 'id') r;
  if (p_query ->> 'asksNew')::boolean and not exists (
    select from unnest(v_refs, v_gateways) as r (ref, gateway) join {{schema}}.transfer t on {{schema}}.payment_ref(t.request) = r.ref
    where t.account_id = v_account_id and (r.gateway = '' or t.gateway = r.gateway or r.gateway in (select {{schema}}.payment_chain(t.id, r.ref))) and t.status = 'complete'
      and not exists (select from {{schema}}.transfer_return b where b.transfer_id = t.id)) then
    v_new := '{"newToAccount": true}';
    if not exists (
      select from unnest(v_refs, v_gateways) as r (ref, gateway) join {{schema}}.transfer t on {{schema}}.payment_ref(t.request) = r.ref
      where (r.gateway = '' or t.gateway = r.gateway or r.gateway in (select {{schema}}.payment_chain(t.id, r.ref))) and t.status = 'complete'
        and not exists (select from {{schema}}.transfer_return b where b.transfer_id = t.id))
      and not exists (
        select from {{schema}}.counterparty c join {{schema}}.transfer t
          on {{schema}}.payment_ref(t.request) = any (array[c.fingerprint, c.address_id])
        where c.payee = v_payee and ({{schema}}.payment_ref(t.request) = c.fingerprint or t.gateway = {{schema}}.gateway_of(c.account_id)
            or {{schema}}.gateway_of(c.account_id) in (select {{schema}}.payment_chain(t.id, c.address_id)))
          and t.status = 'complete' and not exists (select from {{schema}}.transfer_return b where b.transfer_id = t.id)) then
      v_new := '{"newToAccount": true, "newToHost": true}';
    end if;
  end if;
  if p_query ->> 'days' is not null then
    select jsonb_build_object('id', l.id, 'at', {{schema}}.iso(l.at)) into v_lookalike
    from {{schema}}.find_lookalike(p_query ->> 'id', v_account_id, p_query ->> 'idempotencyKey', v_refs, v_gateways, (p_query ->> 'amount')::numeric,
      array(select jsonb_array_elements_text(p_query -> 'currencies')), clock_timestamp() - make_interval(days => (p_query ->> 'days')::integer), 'infinity', null) l;
  end if;
  if v_new = '{}' and v_lookalike is null and not v_names_payee then
    return null;
  end if;
  return jsonb_build_object('at', p_query -> 'at') || v_new
    || case when v_lookalike is null then '{}' else jsonb_build_object('lookalike', v_lookalike) end
    || case when not v_names_payee then '{}' else jsonb_build_object('payee', coalesce(
      (select left(encode(sha256(convert_to(s.salt || v_payee, 'UTF8')), 'hex'), 32) from {{schema}}.limit_salt s where v_payee is not null),
      v_gateway || ' ' || v_address_id)) end;
end
$$;
