-- Why this database is not the one that workers know: another server, another database on it, or another deployment. While workers
-- without a deployment's name run, a worker with a name is of another deployment too: the name may be mistyped, and recording it
-- would stop them.
create or replace function {{schema}}.identity_mismatch(
  p_known {{schema}}.known_database, p_server text, p_oid bigint, p_deployment text, p_works boolean
) returns text language sql volatile as $$
  select case
    when p_known.only_row is null then null
    when p_known.system_identifier <> p_server then 'other_server'
    when p_known.database_oid <> p_oid then 'other_database'
    when p_works and p_known.deployment is distinct from p_deployment
      and (p_known.deployment is not null or p_known.seen_at > clock_timestamp() - interval '15 seconds') then 'other_deployment'
  end
$$;
