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
