create or replace function {{schema}}.ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'Ledger entries are never changed; post the reverse instead.' using errcode = 'restrict_violation';
end
$$;
