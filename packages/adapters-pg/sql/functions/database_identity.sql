-- Where this session is. The server's identifier is null where this role may not run the functions that return it.
create or replace function {{schema}}.database_identity()
returns table (
  system_identifier text, database_oid bigint, database_name text, timeline bigint, started_at timestamptz
) language plpgsql as $$
#variable_conflict use_column
begin
  select d.oid::bigint, d.datname::text into database_oid, database_name from pg_database d where d.datname = current_database();
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    select c.system_identifier::text into system_identifier from pg_control_system() c;
  end if;
  if not pg_is_in_recovery() then
    -- The control file has the new timeline only after the checkpoint that follows a promotion.
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
  end if;
  started_at := pg_postmaster_start_time();
  return next;
end
$$;
