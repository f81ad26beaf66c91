-- True where an account that moves may still be stopped here, or paused (`p_pauses`), since transfers of it are sent here and what is written stays or goes along. The
-- row is kept until the end of the transaction: packing ends behind it, and takes along what the caller has written. It has the rights of its owner: a host may
-- not lock the row.
create or replace function {{schema}}.may_stop(p_account_id text, p_pauses boolean) returns boolean language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform from {{schema}}.departed_account d
  where d.account_id = p_account_id and (d.state = 'leaving' or not p_pauses and d.state in ('unpacking', 'returning')) for key share;
  return found;
end
$$;
