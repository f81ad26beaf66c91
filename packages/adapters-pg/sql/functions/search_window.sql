-- The next transfers of a search before a place, the newest first: of a pair of metadata or of all, from an id on, or of an account, of a batch, or of what is
-- not submitted yet. find_transfers() holds its plans to indexes.
create or replace function {{schema}}.search_window(
  p_by text, p_name text, p_value text, p_account_id text, p_batch_id text, p_place text, p_from text, p_limit integer
) returns text[] language plpgsql stable as $$
begin
  return case p_by
    when 'pair' then array(
      select m.transfer_id from {{schema}}.transfer_metadata m
      where m.name = p_name and m.value = p_value and m.transfer_id < p_place and m.transfer_id >= p_from order by m.transfer_id desc limit p_limit)
    when 'account' then array(
      -- Not in the order of ids, for which all transfers of all accounts would be read.
      select s.id from (select t.id from {{schema}}.transfer t where t.account_id = p_account_id offset 0) s
      where s.id < p_place order by s.id desc limit p_limit)
    when 'batch' then array(
      select t.id from {{schema}}.transfer t
      where t.batch_id = p_batch_id and t.id < p_place order by t.batch_id desc, t.id desc limit p_limit)
    when 'open' then array(
      select t.id from {{schema}}.transfer t
      where t.remote_id is null and t.status = 'pending' and t.id < p_place order by t.id desc limit p_limit)
    else array(
      select t.id from {{schema}}.transfer t where t.id < p_place and t.id >= p_from order by t.id desc limit p_limit)
  end;
end
$$;
