-- True of a gateway that no worker has had for two minutes. Workers of earlier releases, who do not say so, have the one without a name, too.
create or replace function {{schema}}.is_unattended(p_gateway text) returns boolean language sql stable as $$
  select (p_gateway <> 'default' or exists (
      select 1 from {{schema}}.attended_gateway g where g.attended_at > clock_timestamp() - interval '2 minutes'))
    and not exists (
      select 1 from {{schema}}.attended_gateway g where g.name = p_gateway and g.attended_at > clock_timestamp() - interval '2 minutes')
$$;
