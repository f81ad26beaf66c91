-- Records early observations, for a worker. Does not wait for a lock: what a host is about to record needs no second record.
create or replace function {{schema}}.record_early_observations(p_account_id text, p_remote_ids text[]) returns void language plpgsql
set lock_timeout = '50ms' as $$
begin
  insert into {{schema}}.early_observation (account_id, remote_id)
  select p_account_id, u.remote_id from unnest(p_remote_ids) as u (remote_id) order by 2 on conflict do nothing;
exception when lock_not_available then
  null;
end
$$;
