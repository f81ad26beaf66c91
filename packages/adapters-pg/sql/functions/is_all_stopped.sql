-- True while nothing may be claimed: everything or the gateway is stopped, or the database is fenced.
create or replace function {{schema}}.is_all_stopped() returns boolean language sql stable as $$
  select exists (select 1 from {{schema}}.stop s where s.scope <> 'account')
    or exists (select 1 from {{schema}}.known_database h where h.fenced_since is not null)
$$;
