-- Marks acceptances that came too late for their transfers: these had ended, or another attempt was under way. The answer stays what it
-- was. A transfer that has ended stays as it is; one that waits is in doubt, so nobody cancels it and it does not expire: its next
-- attempt, under the same key, finds out. An answer that is written twice was in time the first time.
create or replace function {{schema}}.mark_late(p_settlements jsonb) returns void language sql as $$
  with marked as (
    update {{schema}}.attempt a
    set late = true, detail = concat_ws('; ', a.detail, 'accepted as ' || s.remote_id || ', too late for the transfer to take it')
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, outcome text, remote_id text)
    join {{schema}}.transfer t on t.id = s.id and t.remote_id is distinct from s.remote_id
    where s.outcome = 'accepted' and s.remote_id is not null
      and a.transfer_id = s.id and a.attempt = s.attempt and a.outcome = 'accepted' and a.step is null and a.late is null
    returning a.transfer_id, a.claimed_at
  )
  update {{schema}}.transfer t set unknown_since = least(t.unknown_since, m.claimed_at, clock_timestamp())
  from marked m
  where t.id = m.transfer_id and t.remote_id is null and t.stage in ('queued', 'awaiting_funds', 'blocked')
$$;
