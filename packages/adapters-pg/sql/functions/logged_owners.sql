-- Transfers of an account whose log has this id at the service, although their row has another one or none: what the service accepted after
-- their end, what it lost, and what a reconciliation or a person found; and those with that id that are between two nodes. Everything that asks whose an id is,
-- and does not find it in a row, asks here. The archive leaves such logs where they are.
create or replace function {{schema}}.logged_owners(p_account_id text, p_remote_id text) returns setof {{schema}}.transfer
language sql stable as $$
  select t.* from {{schema}}.attempt a join {{schema}}.transfer t on t.id = a.transfer_id
  where a.unmatched_id = p_remote_id and t.account_id = {{schema}}.account_of(p_account_id) and t.gateway = {{schema}}.gateway_of(p_account_id)
  union all
  select t.* from {{schema}}.moved_row m cross join lateral jsonb_populate_record(null::{{schema}}.transfer, m.content -> 0) t
  where m.account_id = {{schema}}.account_of(p_account_id) and m.kind = 'transfer' and m.content #>> '{0,remote_id}' = p_remote_id
    and m.content #>> '{0,gateway}' = {{schema}}.gateway_of(p_account_id)
$$;
