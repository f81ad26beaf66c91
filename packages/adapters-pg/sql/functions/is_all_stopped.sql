-- True while a worker with these gateways may claim nothing: everything or each of them is stopped, or the database is fenced.
create or replace function {{schema}}.is_all_stopped(p_gateways text[]) returns boolean language sql stable as $$
  select exists (select 1 from {{schema}}.stop s where s.scope = 'all')
    or exists (select 1 from {{schema}}.known_database h where h.fenced_since is not null)
    or exists (select 1 from {{schema}}.stop s where s.scope = 'gateway') and not exists (
      select 1 from unnest(p_gateways) as g (name)
      where not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = g.name))
$$;
-- Earlier workers call it through a function that has been replaced by now.
drop function if exists {{schema}}.is_all_stopped();
