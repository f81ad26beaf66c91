-- Whether an account, given as a text of gateway_account(), is on this node. Of one that moves, not even its transfers need be here.
create or replace function {{schema}}.is_here(p_gateway_account text) returns boolean language sql stable as $$
  select not exists (
    select from {{schema}}.departed_account d where d.account_id = {{schema}}.account_of(p_gateway_account) and d.state <> 'here')
$$;
