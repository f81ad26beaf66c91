-- Writes what a new transfer is compared by before it is sent.
create or replace function {{schema}}.record_watches(p_id text, p_watches jsonb) returns void language sql as $$
  insert into {{schema}}.payment_watch (transfer_id, policy, policy_version, name, why, requirement, days, currencies)
  select p_id, w.policy, w."policyVersion", w.name, w.why, w.requirement, w.days, w.currencies
  from jsonb_to_recordset(p_watches) as w (policy text, "policyVersion" integer, name text, why text, requirement jsonb, days integer, currencies text[])
$$;
