-- Reads the queue from a function, whose text is resolved when it runs, so that the queue may change its tables.
create or replace function {{schema}}.job_of(p_transfer_id text)
returns table (state text, start_after timestamptz, heartbeat_on timestamptz) language sql stable as $$
  select j.state::text, j.start_after, j.heartbeat_on from {{queue_table}} j
  where j.name = '{{queue}}' and j.id = {{schema}}.job_id(p_transfer_id)
$$;
comment on function {{schema}}.job_of(text) is 'The job of a transfer in the queue; no row when it has none.';
