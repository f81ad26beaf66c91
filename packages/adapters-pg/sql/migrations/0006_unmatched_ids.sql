-- The id of a line of the log that is or was unmatched; null in all others. No answer in time changes it, so its index costs an answer
-- nothing, which an index of `remote_id` would.
alter table {{schema}}.attempt add column unmatched_id text;

-- Logs with such a line, or with a key that the service has for another request, return from the archive: only the live log is asked whose
-- an id at the service is, and whether a payment may have been made. Their events stay in the archive.
lock table {{schema}}.archive in share row exclusive mode;

insert into {{schema}}.attempt
select r.* from {{schema}}.archive a cross join lateral jsonb_each(a.history) h
cross join lateral jsonb_populate_recordset(null::{{schema}}.attempt, h.value -> 'attempts') r
where h.value @? '$.attempts[*] ? (@.unmatched != null || @.outcome == "key_mismatch")';

update {{schema}}.archive a set history = a.history || (
  select jsonb_object_agg(h.key, h.value || '{"attempts": []}') from jsonb_each(a.history) h
  where h.value @? '$.attempts[*] ? (@.unmatched != null || @.outcome == "key_mismatch")')
where a.history @? '$.*.attempts[*] ? (@.unmatched != null || @.outcome == "key_mismatch")';

update {{schema}}.attempt a set unmatched_id = a.remote_id where a.unmatched is not null and a.remote_id is not null;

-- Its result has another column now.
drop function if exists {{schema}}.archive_history(text, text, bigint, integer, boolean);
