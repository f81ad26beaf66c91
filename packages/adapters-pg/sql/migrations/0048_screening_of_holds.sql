-- Whoever holds a transfer for screening lets it be screened, and nobody screens what is not held for it.
create trigger hold_is_screened after insert on {{schema}}.hold for each row
  when (new.name = 'screening') execute function {{schema}}.begin_screening();
create trigger hold_is_screened_no_more after delete on {{schema}}.hold for each row
  when (old.name = 'screening') execute function {{schema}}.end_screening();
