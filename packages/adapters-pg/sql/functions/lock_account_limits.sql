-- The limits of an account, which nobody else changes until the transaction ends. One without a row gets it here, so that two who set its first limits wait for each other.
create or replace function {{schema}}.lock_account_limits(p_account_id text) returns jsonb language plpgsql as $$
declare
  v_limits jsonb;
begin
  insert into {{schema}}.account (account_id) values (p_account_id) on conflict do nothing;
  select jsonb_build_object('ratePerSecond', a.rate_per_second, 'concurrency', a.concurrency, 'weight', a.weight) into v_limits
  from {{schema}}.account a where a.account_id = p_account_id for no key update;
  return v_limits;
end
$$;
