-- An entry of the audit as text, over which its hash is. It never changes: a later release that adds a column leaves it out here.
create or replace function {{schema}}.audit_text(p_entry {{schema}}.audit) returns text language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', p_entry.id::text, 'at', to_char(p_entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'command', p_entry.command,
    'actor', p_entry.actor, 'reason', p_entry.reason, 'transferId', p_entry.transfer_id, 'before', p_entry.before, 'after', p_entry.after,
    'login', p_entry.login, 'transaction', p_entry.transaction::text)::text
  where p_entry.id is not null
$$;
