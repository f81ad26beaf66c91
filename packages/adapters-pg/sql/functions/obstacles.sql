-- The reasons of transfers whose requests do not get through to the service, whatever they ask for; poll_failed is that of a submitted one alone, whose
-- gateway got an error in place of the status.
create or replace function {{schema}}.obstacles() returns text[] language sql immutable as $$
  select array['unreachable', 'misconfigured', 'credentials_unavailable', 'poll_failed']
$$;
