-- Returns those of the transfers that ended before a time, are not archived and may be. With `p_lock` it locks them and skips locked ones;
-- it sees a transfer that another archiver has just finished with as that archiver left it.
--
-- The history of a transfer stays while its effect is not certain, and while its money may come back. It stays for good where a line of its
-- log was marked, also when a person has dealt with that: whose an id at the service is, and what was in doubt, is asked for ever, and in
-- the live log alone.
create or replace function {{schema}}.lock_ended(p_ids text[], p_before timestamptz, p_lock boolean) returns text[] language plpgsql as $$
declare
  v_ids text[];
begin
  if p_lock then
    select array_agg(l.id) into v_ids from (
      select t.id from {{schema}}.transfer t
      where t.id = any (p_ids) and t.stage = 'settled' and t.updated_at < p_before and t.archive_page is null
      order by t.id for no key update skip locked
    ) l;
  else
    select array_agg(t.id) into v_ids from {{schema}}.transfer t
    where t.id = any (p_ids) and t.stage = 'settled' and t.updated_at < p_before and t.archive_page is null;
  end if;
  return (
    select array_agg(t.id) from {{schema}}.transfer t where t.id = any (v_ids) and {{schema}}.effect_of(t) in ('none', 'known')
      -- The event of a batch is one of a transfer of it.
      and not exists (select 1 from {{schema}}.batch b where b.id = t.batch_id and b.completed_at is null)
      and not exists (
        select 1 from {{schema}}.return_window w where w.transfer_id = t.id and w.ends_at > statement_timestamp())
      and not exists (
        select 1 from {{schema}}.transfer_return r where r.transfer_id = t.id and r.problem is not null and r.resolved_at is null)
      and not exists (
        select 1 from {{schema}}.attempt a where a.transfer_id = t.id and (a.unmatched is not null
          -- A worker that seemed dead may still write its answer, for 24 hours; after that it has lost the job.
          or a.answered_at is null and a.claimed_at > statement_timestamp() - interval '24 hours'))
  );
end
$$;
