-- Why a transfer may not enter a batch: `unknown`, `closed` or `account`; null when it may. Until the end of the transaction no worker completes that
-- batch. A transfer in place of another one of the batch enters it also when it is closed.
create or replace function {{schema}}.batch_refusal(p_id text, p_account_id text, p_replaces boolean) returns text language plpgsql as $$
declare
  v_key bigint := {{schema}}.batch_lock(p_id);
  v_batch record;
begin
  -- Many hold it at once. A worker holds it alone, for a moment, in which it completes the batch: the next statement sees that.
  if not pg_try_advisory_xact_lock_shared(v_key) then
    perform pg_advisory_xact_lock_shared(v_key);
  end if;
  -- A snapshot from before the completion does not see it; the lock of the row fails there, as a concurrent change.
  if current_setting('transaction_isolation') <> 'read committed' then
    perform from {{schema}}.batch b where b.id = p_id for share;
  end if;
  select b.account_id, b.completed_at is not null
    or not p_replaces and exists (select from {{schema}}.closed_batch c where c.batch_id = b.id) as is_closed
  into v_batch from {{schema}}.batch b where b.id = p_id;
  return case when not found then 'unknown' when v_batch.is_closed then 'closed' when v_batch.account_id <> p_account_id then 'account' end;
end
$$;
