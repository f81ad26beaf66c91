-- The number of an amount: what the service wrote of a transfer that it made may be no number, and is null then. A cast would fail the statement, and what else it is about.
create or replace function {{schema}}.amount_of(p_amount jsonb) returns numeric language sql immutable parallel safe as $$
  select case when p_amount ->> 'value' ~ '^[0-9]{1,100}([.][0-9]{1,100})?$' then (p_amount ->> 'value')::numeric end
$$;
