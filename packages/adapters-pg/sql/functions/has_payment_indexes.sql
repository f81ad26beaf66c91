-- True where the indexes are there by which policies find earlier transfers. Without them nobody searches for any: that would read whole tables.
create or replace function {{schema}}.has_payment_indexes() returns boolean language sql stable as $$
  select count(*) = 3 from pg_catalog.pg_index i
  where i.indisvalid and i.indexrelid in (to_regclass('{{schema}}.transfer_payment'), to_regclass('{{schema}}.counterparty_payee'),
    to_regclass('{{schema}}.counterparty_details_payee'))
$$;
