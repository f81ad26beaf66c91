-- Takes the id at the service from packed transfers of an account of which an earlier one has that id, and puts them back into the tables that workers read. What was accepted
-- meanwhile was compared with nothing that was packed, and no node can unpack both. The earlier one had the id when it was packed. Returns how many there were. The caller has
-- the row of the account in departed_account locked.
create or replace function {{schema}}.move_part_doubles(p_account_id text) returns integer language plpgsql as $$
declare
  v_one record;
  v_count integer := 0;
begin
  for v_one in
    select d.id, d.remote_id, d.first_id from (
      select m.key as id, m.content #>> '{0,remote_id}' as remote_id, first_value(m.key) over w as first_id
      from {{schema}}.moved_row m where m.account_id = p_account_id and m.kind = 'transfer' and m.content #>> '{0,remote_id}' is not null
      window w as (partition by m.content #>> '{0,gateway}', m.content #>> '{0,remote_id}' order by (m.content #>> '{0,updated_at}')::timestamptz, m.key)
    ) d where d.id <> d.first_id order by d.id
  loop
    perform {{schema}}.move_unpack_transfers(p_account_id, array[v_one.id]);
    perform {{schema}}.release_remote_id(v_one.id, format('accepted as %s, which is the id of the transfer %s of the account', v_one.remote_id, v_one.first_id), null);
    v_count := v_count + 1;
  end loop;
  return v_count;
end
$$;
