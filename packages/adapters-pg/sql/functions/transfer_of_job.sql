create or replace function {{schema}}.transfer_of_job(p_job_id uuid) returns text language sql immutable strict parallel safe as $$
  select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(b.bits, 5 * n - 4, 5)::bit(5)::integer + 1, 1), '' order by n)
  from (select '00' || ('x' || replace(p_job_id::text, '-', ''))::bit(128)::text as bits) b, generate_series(1, 26) as n
$$;
comment on function {{schema}}.transfer_of_job(uuid) is 'The id of a job''s transfer: the inverse of job_id.';
