-- Gateways of transfers that are not settled and that no worker has had for two minutes, with how many transfers they have. Reads all
-- transfers that are not settled.
create or replace function {{schema}}.unattended_gateways()
returns table (gateway text, transfers integer, sample text, since timestamptz) language sql stable as $$
  select g.gateway, g.transfers, g.sample, g.since from (
    select t.gateway, count(*)::integer as transfers, min(t.id) as sample, min(t.created_at) as since from (
      select o.id, o.gateway, o.created_at from {{schema}}.transfer o
      where o.remote_id is null and o.status = 'pending' and o.stage <> 'settled'
      union all
      select o.id, o.gateway, o.created_at from {{schema}}.transfer o where o.next_poll_at is not null and o.remote_id is not null
    ) t
    -- The offset has each gateway asked about once; without it, each transfer is.
    group by t.gateway offset 0
  ) g where {{schema}}.is_unattended(g.gateway) order by 1
$$;
