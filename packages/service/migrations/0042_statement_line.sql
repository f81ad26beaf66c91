-- What the other bank shows for an ACH entry: {companyName, name, entryDescription}; null for every other rail.
alter table {{schema}}.rail_payment add column statement_line jsonb;
