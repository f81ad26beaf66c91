-- Positions of transfers that their batch may not have, each with the reason, unless their key is in use: a repeat is harmless. Batches are asked in the
-- order of their ids.
create or replace function {{schema}}.refused_batches(p_account_ids text[], p_keys text[], p_batches text[])
returns table (stored_position integer, refusal text) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select d.batch_id, d.account_id, {{schema}}.batch_refusal(d.batch_id, d.account_id, false) as refusal
    from (
      select distinct n.batch_id, n.account_id from unnest(p_batches, p_account_ids) as n (batch_id, account_id)
      where n.batch_id <> '' order by 1, 2) d
  )
  select n.position::integer, a.refusal
  from unnest(p_batches, p_account_ids, p_keys) with ordinality as n (batch_id, account_id, key, position)
  join asked a on a.batch_id = n.batch_id and a.account_id = n.account_id
  where a.refusal is not null and not exists (
    select from {{schema}}.transfer t where t.account_id = n.account_id and t.idempotency_key = n.key)
  order by 1;
end
$$;
