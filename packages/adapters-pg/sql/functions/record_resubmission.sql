-- Records that a transfer is about to be enqueued in place of one that has ended. Returns the id of the transfer that stands in its place:
-- the new one, or the one that it was resubmitted as before, also under the same key before there were these records. Null where the key has a
-- transfer that cannot be that. Two calls wait for each other.
create or replace function {{schema}}.record_resubmission(p_id text, p_new_id text, p_key text, p_fingerprint text) returns text
language plpgsql as $$
declare
  v_id text := p_new_id;
  v_stored record;
begin
  select t.id, t.fingerprint, t.created_at > o.created_at as is_later into v_stored
  from {{schema}}.transfer o join {{schema}}.transfer t on t.account_id = o.account_id and t.idempotency_key = p_key where o.id = p_id;
  if v_stored.id is not null then
    v_id := case when v_stored.is_later and v_stored.fingerprint = p_fingerprint then v_stored.id end;
  end if;
  if v_id is not null then
    insert into {{schema}}.resubmission (transfer_id, successor_id) values (p_id, v_id) on conflict do nothing;
  end if;
  return (select r.successor_id from {{schema}}.resubmission r where r.transfer_id = p_id);
end
$$;
