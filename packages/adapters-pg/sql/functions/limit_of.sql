-- Which of the sums of a limit that is, as people read it: an id of an address stands for its payee.
create or replace function {{schema}}.limit_of(p_scope text, p_address_id text) returns jsonb language sql immutable as $$
  select case when s.of ? 'counterparty' and p_address_id is not null
    then jsonb_set(s.of, '{counterparty}', to_jsonb(p_address_id)) else s.of end
  from (select p_scope::jsonb as of) s
$$;
