-- A step is written by one statement, and is checked once behind it instead of once for each of its lines at the commit.
drop trigger ledger_entry_balanced on {{schema}}.ledger_entry;

create trigger ledger_entry_balanced after insert on {{schema}}.ledger_entry
  referencing new table as added for each statement execute function {{schema}}.ledger_check_balanced();

drop function if exists {{schema}}.transfer_advance(text, text[], text, jsonb, text, timestamptz);
