-- The moment that a text says; null for a text that says none. Texts of before were stored as others wrote them.
create or replace function {{schema}}.moment_of(p_text text) returns timestamptz language plpgsql stable strict as $$
begin
  return p_text::timestamptz;
exception when data_exception then
  return null;
end
$$;
