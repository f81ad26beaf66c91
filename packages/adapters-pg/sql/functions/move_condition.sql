-- Which rows `y` of such a table are of an account: `$1` is its id, and `$2` what gateway_accounts() gives. Those of batches are found by the batches that are packed.
create or replace function {{schema}}.move_condition(p_table text) returns text language sql immutable as $$
  select case
    when p_table in ('account', 'batch') then 'y.account_id = $1'
    when p_table = 'stop' then 'y.scope = ''account'' and y.name = $1'
    when p_table like '%\_batch' or p_table like 'batch\_%' then
      'y.batch_id in (select m.content -> 0 ->> ''id'' from {{schema}}.moved_row m where m.account_id = $1 and m.kind = ''batch'')'
    else 'y.account_id = any ($2)' end
$$;
