-- The reasons of transfers whose requests do not get through to the service, whatever they ask for.
create or replace function {{schema}}.obstacles() returns text[] language sql immutable as $$
  select array['unreachable', 'misconfigured', 'credentials_unavailable']
$$;
