-- Fails with the constraint quote_unexpired when the quote that this transaction uses has expired. The caller runs it behind everything that
-- the transaction may have waited for. p_now is the time of the desk as the transaction was sent; the time since is that of the server, whose
-- clock may differ from the desk's.
create or replace function {{schema}}.quote_confirm(p_id text, p_now timestamptz) returns void language plpgsql as $$
begin
  if exists (
    select from {{schema}}.quote q
     where q.id = p_id and q.expires_at <= p_now + greatest(clock_timestamp() - transaction_timestamp(), interval '0')
  ) then
    raise exception 'The quote % has expired.', p_id using errcode = 'check_violation', constraint = 'quote_unexpired';
  end if;
end
$$;
