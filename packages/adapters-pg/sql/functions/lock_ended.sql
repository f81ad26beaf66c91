-- Returns those of the transfers that ended before a time and are not archived. One that the service accepted afterwards stays for good,
-- since nothing but its log says whose id that is; one that it may have accepted stays until a person has dealt with that. With `p_lock` it locks them and skips locked ones;
-- it sees a transfer that another archiver has just finished with as that archiver left it.
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
  -- A worker that seemed dead may still write its answer, for 24 hours; after that it has lost the job.
  return (
    select array_agg(t.id) from {{schema}}.transfer t where t.id = any (v_ids) and {{schema}}.effect_of(t) <> 'conflicting'
      and not {{schema}}.ended_in_doubt(t) and not exists (
      select 1 from {{schema}}.attempt a
      where a.transfer_id = t.id and (a.unmatched is not null and a.remote_id is not null
        or a.answered_at is null and a.claimed_at > statement_timestamp() - interval '24 hours'))
  );
end
$$;
