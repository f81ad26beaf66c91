-- Keeps in mind what was told of too early, for a worker: what a host is about to note needs no second note, so it is not waited for.
create or replace function {{schema}}.note_sightings(p_account_id text, p_remote_ids text[]) returns void language plpgsql
set lock_timeout = '50ms' as $$
begin
  insert into {{schema}}.sighting (account_id, remote_id)
  select p_account_id, u.remote_id from unnest(p_remote_ids) as u (remote_id) order by 2 on conflict do nothing;
exception when lock_not_available then
  null;
end
$$;
