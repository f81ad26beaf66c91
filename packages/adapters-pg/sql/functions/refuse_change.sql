-- Refuses each change of rows that are only added.
create or replace function {{schema}}.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'Rows of % are only added: they say who did what.', tg_table_name using errcode = 'insufficient_privilege';
end
$$;
