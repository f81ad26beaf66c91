-- Records transfers of the service that have no row here, if the account is watched. The first observation of each counts, until the service has changed it. One that cannot be adopted as it is has
-- a problem, and is not written again while it has the same one.
create or replace function {{schema}}.record_found_transfers(p_account_id text, p_found jsonb) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  insert into {{schema}}.found_transfer as f (account_id, remote_id, automated, transfer, problem)
  select p_account_id, n.remote_id, n.automated, n.transfer, n.problem
  from jsonb_to_recordset(p_found) as n (remote_id text, automated boolean, created_at timestamptz, transfer jsonb, problem text)
  join {{schema}}.watched_account w on w.account_id = p_account_id and w.since <= n.created_at
  where not exists (
    select 1 from {{schema}}.transfer t where t.remote_id = n.remote_id and t.account_id = {{schema}}.account_of(p_account_id) and t.gateway = {{schema}}.gateway_of(p_account_id)
  )
  order by n.remote_id
  -- A transfer that could not be adopted as it was may be complete this time, and money may have come back since.
  -- What says nothing of that takes nothing back.
  on conflict (account_id, remote_id) do update set automated = excluded.automated, problem = excluded.problem,
    transfer = case when f.transfer ? 'returns' and not excluded.transfer ?| array['returns', 'no_returns']
      then excluded.transfer || jsonb_build_object('returns', f.transfer -> 'returns') else excluded.transfer end
  where (f.problem is not null and f.problem is distinct from excluded.problem or excluded.transfer ? 'returns' or f.transfer ? 'returns'
      or (excluded.transfer ->> 'changed_at')::timestamptz > (f.transfer ->> 'changed_at')::timestamptz)
    -- A report that comes late or again is older; a time far in the future makes none old.
    and ((excluded.transfer ->> 'changed_at')::timestamptz < (f.transfer ->> 'changed_at')::timestamptz
      and (f.transfer ->> 'changed_at')::timestamptz < clock_timestamp() + interval '5 minutes') is not true;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
