-- The facts of policy_facts() where they are others than these, with an empty text for none; null where they are these.
create or replace function {{schema}}.other_facts(
  p_named text[], p_address_ids text[], p_fingerprints text[], p_payees text[], p_payments jsonb, p_expected text
) returns text language sql stable as $$
  select nullif(coalesce({{schema}}.policy_facts(p_named, p_address_ids, p_fingerprints, p_payees, p_payments), ''), p_expected)
$$;
