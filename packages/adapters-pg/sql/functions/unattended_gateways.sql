-- Gateways of transfers that are not settled and that no worker has had for two minutes, with how many transfers they have. Reads all
-- transfers that are not settled.
create or replace function {{schema}}.unattended_gateways()
returns table (gateway text, transfers integer, sample text, since timestamptz) language sql stable as $$
  select t.gateway, count(*)::integer, min(t.id), min(t.created_at) from (
    select o.id, o.gateway, o.created_at from {{schema}}.transfer o
    where o.remote_id is null and o.status = 'pending' and o.stage <> 'settled'
    union all
    select o.id, o.gateway, o.created_at from {{schema}}.transfer o where o.next_poll_at is not null and o.remote_id is not null
  ) t
  group by t.gateway having {{schema}}.is_unattended(t.gateway) order by 1
$$;
