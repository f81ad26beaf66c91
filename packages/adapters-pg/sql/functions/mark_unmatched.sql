-- Marks acceptances in the log under an id that their transfer has not got: it had ended, a person had given it another id, or another
-- transfer of the account has that id. The answer stays what it was. One that is marked already, or that a person has dealt with, does
-- not change. The row of the transfer is written as it is: a transaction of repeatable read that began before fails when it locks it to
-- resubmit the transfer, since it would not see the mark.
create or replace function {{schema}}.mark_unmatched(p_settlements jsonb) returns void language sql as $$
  with marked as (
    update {{schema}}.attempt a
    set unmatched = true, unmatched_id = a.remote_id, detail = case when s.taken_id is not null then a.detail
      else concat_ws('; ', a.detail, 'accepted as ' || a.remote_id || ', too late for the transfer to take it') end
    from jsonb_to_recordset(p_settlements) as s (id text, remote_id text, taken_id text) join {{schema}}.transfer t on t.id = s.id
    where a.transfer_id = s.id and a.remote_id = coalesce(s.remote_id, s.taken_id) and a.outcome = 'accepted' and a.step is null
      and a.remote_id is distinct from t.remote_id and a.unmatched is null
    returning a.transfer_id
  )
  update {{schema}}.transfer t set updated_at = t.updated_at from (select distinct m.transfer_id from marked m) m where t.id = m.transfer_id
$$;
