-- The same, one by one where one of them cannot be written: that one stays in `found_transfer` with its problem, and is not tried
-- again unchanged. Returns one row for each new transfer, and for each problem one row without an id.
create or replace function {{schema}}.adopt_noted(p_account_ids text[], p_remote_ids text[])
returns table (id text, account_id text, remote_id text, problem text) language plpgsql as $$
#variable_conflict use_column
declare
  v_ids text[] := '{}';
  v_one record;
begin
  begin
    v_ids := {{schema}}.adopt_all(p_account_ids, p_remote_ids);
    return query select i.id, null::text, null::text, null::text from unnest(v_ids) as i (id);
    return;
  exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
    v_ids := '{}';
  end;
  for v_one in select r.account_id, r.remote_id from unnest(p_account_ids, p_remote_ids) as r (account_id, remote_id) loop
    begin
      v_ids := v_ids || {{schema}}.adopt_all(array[v_one.account_id], array[v_one.remote_id]);
    exception when data_exception or integrity_constraint_violation or program_limit_exceeded then
      update {{schema}}.found_transfer f set problem = sqlerrm
      where f.account_id = v_one.account_id and f.remote_id = v_one.remote_id;
      -- The message may quote the found transfer, so only its code is returned.
      return query select null::text, v_one.account_id, v_one.remote_id, sqlstate::text;
    end;
  end loop;
  return query select i.id, null::text, null::text, null::text from unnest(v_ids) as i (id);
end
$$;
