create table {{schema}}.transfer (
  id text primary key,
  account_id text not null,
  status text not null check (status in ('pending', 'processing', 'failed', 'canceled', 'complete')),
  failure jsonb,
  flow text not null check (flow in ('onramp', 'offramp', 'swap', 'payout')),
  amount_value numeric not null check (amount_value > 0),
  amount_currency text not null,
  source_address_id text,
  source_value_type text not null,
  source_transfer_type text not null,
  source_transaction_id text,
  source_payment_details jsonb,
  destination_address_id text not null,
  destination_value_type text not null,
  destination_transfer_type text not null,
  destination_transaction_id text,
  destination_payment_details jsonb,
  wire_memo text,
  wire_instructions jsonb,
  brand_account_id text,
  automation_id text,
  note text,
  -- Lines of the ledger for the end of the transfer: {post: […], void: […]}.
  plan jsonb not null,
  -- Legs whose transaction id is the rail's reference.
  reference_legs text not null check (reference_legs in ('source', 'destination', 'both', 'none')),
  -- The rail's reference; set once the engine knows it.
  reference text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create index transfer_of_account on {{schema}}.transfer (account_id, id desc);
create index transfer_by_source_transaction on {{schema}}.transfer (source_transaction_id, account_id)
  where source_transaction_id is not null;
create index transfer_by_destination_transaction on {{schema}}.transfer (destination_transaction_id, account_id)
  where destination_transaction_id is not null;
create index transfer_of_automation on {{schema}}.transfer (automation_id, id desc) where automation_id is not null;
create index transfer_by_wire_memo on {{schema}}.transfer ((wire_instructions ->> 'memo'))
  where wire_instructions is not null;
create index transfer_by_wire_account on {{schema}}.transfer ((wire_instructions ->> 'accountNumber'))
  where wire_instructions is not null;

-- Writes a transfer and holds its money in one round trip. Answers what ledger_apply answers; unless that is 'applied',
-- nothing was written.
create function {{schema}}.transfer_create(p_transfer jsonb, p_hold jsonb) returns text language plpgsql as $$
declare
  v_held text := {{schema}}.ledger_apply(p_transfer ->> 'id', 'hold', p_hold);
begin
  if v_held = 'applied' then
    insert into {{schema}}.transfer select * from jsonb_populate_record(null::{{schema}}.transfer, p_transfer);
  end if;
  return v_held;
end
$$;

-- Moves a transfer forward and moves its money in one round trip. Gives the row as it is afterwards, or nothing when the
-- transfer does not exist or its status is none of p_from; a failure is left only while it is retriable, and keeps its
-- hold as long.
create function {{schema}}.transfer_advance(
  p_id text, p_from text[], p_to text, p_failure jsonb, p_reference text, p_now timestamptz
) returns setof {{schema}}.transfer language plpgsql as $$
declare
  v_transfer {{schema}}.transfer;
begin
  update {{schema}}.transfer t
     set status = p_to,
         failure = p_failure,
         reference = coalesce(t.reference, p_reference),
         source_transaction_id = case when t.reference_legs in ('source', 'both')
           then coalesce(t.source_transaction_id, p_reference) else t.source_transaction_id end,
         destination_transaction_id = case when t.reference_legs in ('destination', 'both')
           then coalesce(t.destination_transaction_id, p_reference) else t.destination_transaction_id end,
         updated_at = p_now
   where t.id = p_id and t.status = any (p_from)
     and (t.status <> 'failed' or coalesce((t.failure ->> 'retriable')::boolean, false))
  returning t.* into v_transfer;
  if not found then
    return;
  end if;
  if p_to = 'complete' then
    perform {{schema}}.ledger_apply(p_id, 'post', v_transfer.plan -> 'post');
  elsif p_to = 'canceled' or (p_to = 'failed' and not coalesce((p_failure ->> 'retriable')::boolean, false)) then
    perform {{schema}}.ledger_apply(p_id, 'void', v_transfer.plan -> 'void');
  end if;
  return next v_transfer;
end
$$;
