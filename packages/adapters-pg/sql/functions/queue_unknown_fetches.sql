-- What counts as the fetches of a transfer whose job is gone. A worker that has stalled may believe that it still has that job, and finds
-- out by the count that the next one is not it: so the count is one that it never had.
create or replace function {{schema}}.queue_unknown_fetches() returns integer language sql volatile as $$
  select (1000000 + random() * 500000000)::integer
$$;
