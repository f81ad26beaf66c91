-- What code that knows one gateway calls.
create or replace function {{schema}}.lease_due_polls(p_limit integer, p_lease_ms integer, p_except text[])
returns table (id text, account_id text, remote_id text, status text, transfer_type text, polls integer) language sql as $$
  select p.id, p.account_id, p.remote_id, p.status, p.transfer_type, p.polls
  from {{schema}}.lease_polls_for_gateways(p_limit, p_lease_ms, p_except, array['default']) p
$$;
