-- Locks the transfers of settlements, in the order of their ids. Answers with those that another transaction has locked; null for none.
create or replace function {{schema}}.lock_settled(p_settlements jsonb) returns text[] language plpgsql as $$
declare
  v_locked text[];
begin
  with asked as materialized (
    select distinct s.id from jsonb_to_recordset(p_settlements) as s (id text)
  ), free as materialized (
    select t.id from {{schema}}.transfer t where t.id in (select k.id from asked k) order by t.id for no key update skip locked
  )
  select array_agg(t.id) into v_locked from {{schema}}.transfer t
  where t.id in (select k.id from asked k) and t.id not in (select f.id from free f);
  return v_locked;
end
$$;
