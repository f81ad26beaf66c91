-- Pays what an account owes from its wallets of the same value on the same chain. Processes of before receivable_settle call it.
create or replace function {{schema}}.receivable_collect(p_account_id text, p_posting_id text) returns void language sql as $$
  select {{schema}}.receivable_settle(p_account_id, p_posting_id, '{}')
$$;
