-- Records transfers of the service whose id no row has, watched or not, until it is certain that they have no row here.
create or replace function {{schema}}.record_unmatched_transfers(p_account_id text, p_found jsonb) returns void language sql as $$
  insert into {{schema}}.found_transfer as f (account_id, remote_id, automated, transfer, problem)
  select p_account_id, n.remote_id, n.automated, n.transfer, n.problem
  from jsonb_to_recordset(p_found) as n (remote_id text, automated boolean, transfer jsonb, problem text)
  where not exists (select 1 from {{schema}}.transfer t where t.remote_id = n.remote_id
    and t.account_id = {{schema}}.account_of(p_account_id) and t.gateway = {{schema}}.gateway_of(p_account_id))
  order by n.remote_id
  on conflict (account_id, remote_id) do update set automated = excluded.automated, transfer = excluded.transfer, problem = excluded.problem
$$;
