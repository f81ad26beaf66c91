-- The tables of what an account has besides its transfers: what is packed `first`, so that no worker adopts a transfer that has just left and no batch seems to
-- be empty, what is packed `last`, or `all`.
create or replace function {{schema}}.move_tables(p_part text) returns text[] language sql immutable as $$
  select case when p_part = 'last' then '{}'::text[] else array['watched_account', 'found_transfer', 'batch'] end
    || case when p_part = 'first' then '{}'::text[] else array['account_client', 'account_throttle', 'counterparty', 'early_observation', 'found_transfer',
      'return_reading', 'unauthorized_account', 'account', 'stop', 'closed_batch', 'batch_count', 'batch_change', 'paused_batch', 'resumed_batch'] end
$$;
