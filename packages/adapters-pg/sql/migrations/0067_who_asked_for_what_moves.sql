-- Who created what a transfer was resubmitted in place of is known while its account moves. Functions: earlier_creators is new.
create index moved_row_successor on {{schema}}.moved_row (account_id, (content #>> '{0,successor_id}')) where kind = 'resubmission';
