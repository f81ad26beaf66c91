-- Records that a transfer is about to be enqueued in place of one that has ended. Returns what is known of the effect of the ended one now, and, where
-- that may be resubmitted, the id of the transfer that stands in its place: the new one, or the one that it was resubmitted as before, also under the
-- same key before there were these records. The id is null where the key has a transfer that cannot be that. Two calls wait for each other, and for an
-- answer that is being written. A call again with the same new id takes back what the first one recorded.
create or replace function {{schema}}.record_resubmission(p_id text, p_new_id text, p_key text, p_fingerprint text, out successor_id text, out effect text)
language plpgsql as $$
declare
  v_id text := p_new_id;
  v_stored record;
begin
  -- Whoever writes an answer of it locks it first. What was written before this lock is seen from here on.
  perform from {{schema}}.transfer t where t.id = p_id for no key update;
  select {{schema}}.effect_of(t) into effect from {{schema}}.transfer t where t.id = p_id;
  delete from {{schema}}.resubmission r where r.transfer_id = p_id and r.successor_id = p_new_id;
  if effect is null or effect not in ('none', 'known') then
    return;
  end if;
  select t.id, t.fingerprint, t.created_at > o.created_at as is_later into v_stored
  from {{schema}}.transfer o join {{schema}}.transfer t on t.account_id = o.account_id and t.idempotency_key = p_key where o.id = p_id;
  if v_stored.id is not null then
    v_id := case when v_stored.is_later and v_stored.fingerprint = p_fingerprint then v_stored.id end;
  end if;
  if v_id is not null then
    insert into {{schema}}.resubmission (transfer_id, successor_id) values (p_id, v_id) on conflict do nothing;
    if found then
      -- As it is: a transaction whose snapshot does not have this fails at the lock of the transfer, instead of ending what goes on.
      update {{schema}}.transfer t set updated_at = t.updated_at where t.id = p_id;
    end if;
  end if;
  select r.successor_id into record_resubmission.successor_id from {{schema}}.resubmission r where r.transfer_id = p_id;
end
$$;
