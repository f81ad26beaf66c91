-- Lets a batch take no further transfers, and writes that down. False when it took none before, null when there is no such batch. Roles that enqueue close batches and may not
-- write the audit, so this has the rights of its owner, and refuses whoever may not close one themselves. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.close_batch(p_id text, p_actor text, p_reason text) returns boolean language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  -- The role that the session has taken, which is not the one that this runs as.
  if not has_table_privilege(coalesce(nullif(current_setting('role'), 'none'), session_user), '{{schema}}.closed_batch', 'insert') then
    raise exception 'permission denied to close a batch' using errcode = 'insufficient_privilege';
  end if;
  -- It holds its row until the end of the transaction: an account that moves takes the batch along only behind that.
  perform from {{schema}}.batch b where b.id = p_id for key share;
  if not found then
    return null;
  end if;
  insert into {{schema}}.closed_batch (batch_id) values (p_id) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform {{schema}}.record_audit('batches.close', p_actor, p_reason, null, jsonb_build_object('batchId', p_id, 'state', 'open'),
    jsonb_build_object('batchId', p_id, 'state', 'closed'));
  return true;
end
$$;
