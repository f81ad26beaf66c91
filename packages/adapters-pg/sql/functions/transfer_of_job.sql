-- Two digits at a time, of the ten bits that they stand for. In PL/pgSQL, which keeps its plan: before version 18, Postgres plans a function in SQL for each transaction, and this one is
-- called for each transfer that is deferred or waits again.
create or replace function {{schema}}.transfer_of_job(p_job_id uuid) returns text language plpgsql immutable strict parallel safe as $$
declare
  v_pairs constant bytea := {{schema}}.id_pairs();
  v_high constant bigint := ('x' || left(replace(p_job_id::text, '-', ''), 16))::bit(64)::bigint;
  v_low constant bigint := ('x' || right(replace(p_job_id::text, '-', ''), 16))::bit(64)::bigint;
begin
  return encode(substr(v_pairs, (((v_high >> 56) & 255)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_high >> 46) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_high >> 36) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_high >> 26) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_high >> 16) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_high >> 6) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, ((((v_high << 4) | ((v_low >> 60) & 15)) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_low >> 50) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_low >> 40) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_low >> 30) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_low >> 20) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, (((v_low >> 10) & 1023)::integer << 1) + 1, 2)
    || substr(v_pairs, ((v_low & 1023)::integer << 1) + 1, 2), 'escape');
end
$$;
comment on function {{schema}}.transfer_of_job(uuid) is 'The id of a job''s transfer: the inverse of job_id.';
