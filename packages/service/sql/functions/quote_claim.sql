-- Uses a quote for a transfer, once. Fails with the constraint quote_unused when another transfer has it, and with quote_unexpired when its
-- time is over at p_now. Waits for another transaction that is using it.
create or replace function {{schema}}.quote_claim(p_account_id text, p_id text, p_transfer_id text, p_now timestamptz) returns void
language plpgsql as $$
begin
  update {{schema}}.quote q
     set transfer_id = p_transfer_id
   where q.id = p_id and q.account_id = p_account_id and q.transfer_id is null and q.expires_at > p_now;
  if found then
    return;
  end if;
  if exists (select from {{schema}}.quote q where q.id = p_id and q.account_id = p_account_id and q.transfer_id is not null) then
    raise exception 'The quote % is used.', p_id using errcode = 'check_violation', constraint = 'quote_unused';
  end if;
  raise exception 'The quote % has expired.', p_id using errcode = 'check_violation', constraint = 'quote_unexpired';
end
$$;
