-- The same as enqueue_one_under, with what is stored beside the transfer: {"metadata": {…}, "batch": id, "replaces": id, "createdBy": actor, "holds": […],
-- "watches": […], "policies": tag}. Returns a text that begins with `batch ` and writes nothing where the batch may not have it. Earlier code gives no tag:
-- where there are policies, what it enqueues is held.
create or replace function {{schema}}.enqueue_one_with(
  p_id text, p_job uuid, p_account_id text, p_key text, p_fingerprint text, p_request jsonb, p_notify boolean,
  p_not_before timestamptz, p_expires_at timestamptz, p_environment text, p_gateway text, p_beside jsonb
) returns text language plpgsql as $$
declare
  v_batch text := p_beside ->> 'batch';
  v_holds jsonb := p_beside -> 'holds';
  v_refusal text;
  v_at text;
  v_tag text := (select p.tag from {{schema}}.policy_state p);
begin
  if p_beside ? 'policies' then
    if v_tag is distinct from p_beside ->> 'policies' then
      return 'stale';
    end if;
  elsif v_tag is not null then
    v_holds := {{schema}}.unjudged_holds();
  end if;
  if v_batch is not null then
    v_refusal := {{schema}}.batch_refusal(v_batch, p_account_id, p_beside ? 'replaces');
    if v_refusal is not null then
      -- A repeat is harmless, also when the batch has been closed since.
      return case when not exists (
        select from {{schema}}.transfer t where t.account_id = p_account_id and t.idempotency_key = p_key) then 'batch ' || v_refusal end;
    end if;
  end if;
  if v_holds is not null then
    v_at := {{schema}}.enqueue_one_held(p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment,
      p_gateway, v_batch, p_beside ->> 'replaces', v_holds);
  elsif v_batch is not null then
    v_at := {{schema}}.enqueue_one_in(p_id, p_job, p_account_id, p_key, p_fingerprint, p_request, p_notify, p_not_before, p_expires_at,
      p_environment, p_gateway, v_batch, p_beside ->> 'replaces');
  else
    -- A change of the policies since is another enqueue's.
    v_at := {{schema}}.enqueue_one_under(p_id, p_job, p_account_id, p_key, p_fingerprint, p_request, p_notify, p_not_before, p_expires_at,
      p_environment, p_gateway, v_tag);
  end if;
  if v_at = 'stale' and not p_beside ? 'policies' then
    v_at := {{schema}}.enqueue_one_held(p_id, p_account_id, p_key, p_fingerprint, p_request, p_not_before, p_expires_at, p_environment,
      p_gateway, v_batch, p_beside ->> 'replaces', {{schema}}.unjudged_holds());
  end if;
  if v_at is not null and v_at <> 'stale' then
    if p_beside ? 'metadata' then
      insert into {{schema}}.transfer_metadata (transfer_id, name, value)
      select p_id, e.key, e.value from jsonb_each_text(p_beside -> 'metadata') as e (key, value);
    end if;
    if p_beside ? 'createdBy' then
      insert into {{schema}}.transfer_creator (transfer_id, created_by) values (p_id, p_beside ->> 'createdBy');
    end if;
    if p_beside ? 'watches' then
      perform {{schema}}.record_watches(p_id, p_beside -> 'watches');
    end if;
  end if;
  return v_at;
end
$$;
