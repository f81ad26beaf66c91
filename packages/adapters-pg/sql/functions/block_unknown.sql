-- For workers of an earlier release, which give the shortest limit of their gateways: those that have a gateway judge by its own.
create or replace function {{schema}}.block_unknown(p_after text, p_limit integer, p_older_ms bigint)
returns table (last_id text, blocked integer) language sql as $$
  select u.last_id, u.blocked from {{schema}}.block_unknown_by_gateway(p_after, p_limit, '{}', '{}', '{}') u
$$;
