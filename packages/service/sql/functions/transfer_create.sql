-- Writes a transfer and holds its money in one round trip. Answers what ledger_apply answers; unless that is 'applied',
-- nothing was written.
create or replace function {{schema}}.transfer_create(p_transfer jsonb, p_hold jsonb) returns text language plpgsql as $$
declare
  v_held text := {{schema}}.ledger_apply(p_transfer ->> 'id', 'hold', p_hold);
begin
  if v_held = 'applied' then
    insert into {{schema}}.transfer select * from jsonb_populate_record(null::{{schema}}.transfer, p_transfer);
  end if;
  return v_held;
end
$$;
