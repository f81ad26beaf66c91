-- Writes transfers for those of the service that certainly have no row here, as if they had been found on a watched account.
-- Answers as adopt_noted() does. One that cannot be adopted as it is stays found.
create or replace function {{schema}}.adopt_lost(p_account_id text, p_found jsonb)
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_remote_ids text[];
begin
  perform {{schema}}.record_unmatched_transfers(p_account_id, p_found);
  v_remote_ids := array(
    select f.remote_id from {{schema}}.found_transfer f
    -- Of an account that moves, not all transfers are here.
    where f.account_id = p_account_id and f.problem is null and {{schema}}.is_here(p_account_id) and f.remote_id in (
      select n.remote_id from jsonb_to_recordset(p_found) as n (remote_id text))
      -- Accepted for a transfer here that has not got that id.
      and not exists (select 1 from {{schema}}.logged_owners(p_account_id, f.remote_id))
    order by 1 for update);
  return query
  select a.id, a.account_id, a.remote_id, a.problem
  from {{schema}}.adopt_noted(array_fill(p_account_id, array[cardinality(v_remote_ids)]), v_remote_ids) a;
end
$$;
