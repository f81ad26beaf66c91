-- Locks the transfers of settlements, in the order of their ids. Answers with those that another transaction has locked; null for none.
create or replace function {{schema}}.lock_settled(p_settlements jsonb) returns text[] language plpgsql as $$
declare
  v_ids text[] := array(select distinct s.id from jsonb_to_recordset(p_settlements) as s (id text));
  v_free text[] := array(select t.id from {{schema}}.transfer t where t.id = any (v_ids) order by t.id for no key update skip locked);
begin
  if cardinality(v_free) = cardinality(v_ids) then
    return null;
  end if;
  return (select array_agg(t.id) from {{schema}}.transfer t where t.id = any (v_ids) and t.id <> all (v_free));
end
$$;
