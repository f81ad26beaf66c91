-- All texts of gateway_account() under which this database may have something of an account.
create or replace function {{schema}}.gateway_accounts(p_account_id text) returns text[] language sql stable as $$
  select array_agg({{schema}}.gateway_account(g.name, p_account_id)) from (
    select 'default' as name union select a.name from {{schema}}.attended_gateway a union select s.name from {{schema}}.started_gateway s
    union select s.name from {{schema}}.stop s where s.scope = 'gateway') g
$$;
