-- Whose rows a statement may touch is said by a setting of its transaction: outlay.client_id for one client, or
-- outlay.system = 'on' for everybody's. Without either, nothing is visible and nothing can be written. The policies are
-- forced, so the owner of the tables obeys them too; a superuser, or a role with bypassrls, never does.

do $$
declare
  v_table text;
  v_system constant text := $policy$current_setting('outlay.system', true) = 'on'$policy$;
  v_client constant text := $policy$current_setting('outlay.client_id', true)$policy$;
begin
  foreach v_table in array array[
    'client', 'client_secret', 'access_token', 'client_account', 'account', 'address', 'idempotency_key',
    'webhook_registration', 'webhook_event', 'webhook_delivery', 'ledger_account', 'ledger_entry', 'transfer',
    'automation', 'automation_deposit', 'bank_link_item', 'bank_link_exchange', 'rail_payment',
    'rail_virtual_account', 'rail_deposit', 'simulated_bank_flow', 'simulated_bank_item'
  ] loop
    execute format('alter table {{schema}}.%I enable row level security, force row level security', v_table);
  end loop;

  -- Of one client.
  foreach v_table in array array['access_token', 'idempotency_key'] loop
    execute format('create policy tenant on {{schema}}.%I using (%s or client_id = %s)', v_table, v_system, v_client);
  end loop;

  -- A client sees which accounts are its own; only the system gives it one.
  execute format('create policy tenant on {{schema}}.client_account for select using (client_id = %s)', v_client);
  execute format('create policy system on {{schema}}.client_account using (%s)', v_system);

  -- Of an account that the client owns or manages. An account without an owner, such as one of the ledger's own, is the
  -- system's. A scalar subquery is one probe of an index per row; where exists, the planner may read all accounts of the
  -- client instead, for every statement.
  foreach v_table in array array[
    'account', 'address', 'webhook_registration', 'webhook_event', 'webhook_delivery', 'ledger_account', 'transfer',
    'automation', 'automation_deposit', 'bank_link_item', 'bank_link_exchange', 'rail_payment'
  ] loop
    execute format(
      'create policy tenant on {{schema}}.%1$I using (%2$s or (
         select true from {{schema}}.client_account c where c.client_id = %3$s and c.account_id = %1$I.%4$I
       ))',
      v_table, v_system, v_client, case v_table when 'account' then 'id' else 'account_id' end
    );
  end loop;

  -- Of a ledger account that can be seen.
  execute format(
    'create policy tenant on {{schema}}.ledger_entry using (%s or (
       select true from {{schema}}.ledger_account a where a.id = ledger_account_id
     ))',
    v_system
  );

  -- Credentials, and what banks and chains know: no client's business.
  foreach v_table in array array[
    'client', 'client_secret', 'rail_virtual_account', 'rail_deposit', 'simulated_bank_flow', 'simulated_bank_item'
  ] loop
    execute format('create policy system on {{schema}}.%I using (%s)', v_table, v_system);
  end loop;
end
$$;

-- A view is read with the rights of whoever asks.
alter view {{schema}}.ledger_balance set (security_invoker = true);
alter view {{schema}}.returned_deposit set (security_invoker = true);

-- The two things that a client's transaction does beyond its own rows, each as the system and no further. An error in
-- between takes the setting back together with everything else.

-- Registers an account as its client's own. Nobody can see it before, the client included.
create function {{schema}}.account_register(p_account jsonb, p_client_id text) returns setof {{schema}}.account
language plpgsql as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
begin
  perform set_config('outlay.system', 'on', true);
  return query insert into {{schema}}.account
    select * from jsonb_populate_record(null::{{schema}}.account, p_account) returning *;
  insert into {{schema}}.client_account (client_id, account_id, created_at)
  values (p_client_id, p_account ->> 'id', (p_account ->> 'created_at')::timestamptz);
  perform set_config('outlay.system', v_before, true);
end
$$;

-- The wallet of this service, whoever's it is, that an address on a chain stands for.
create function {{schema}}.custodial_wallet(p_environment text, p_address_normal text, p_transfer_type text)
returns table (account_id text, address_id text) language plpgsql stable rows 1 as $$
declare
  v_before text := coalesce(current_setting('outlay.system', true), '');
begin
  perform set_config('outlay.system', 'on', true);
  return query select a.account_id, a.id
    from {{schema}}.address a
   where a.type = 'internal' and a.environment = p_environment and a.address_normal = p_address_normal
     and p_transfer_type = any (a.transfer_types);
  perform set_config('outlay.system', v_before, true);
end
$$;
