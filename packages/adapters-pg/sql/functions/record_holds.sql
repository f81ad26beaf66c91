-- Writes what holds a new transfer, and the event of that. The transfer is written as held.
create or replace function {{schema}}.record_holds(p_id text, p_holds jsonb, p_at timestamptz) returns void language plpgsql as $$
begin
  insert into {{schema}}.hold (transfer_id, name, policy, policy_version, why, requirement, since)
  select p_id, h.name, coalesce(h.policy, ''), h."policyVersion", h.why, h.requirement, p_at
  from jsonb_to_recordset(p_holds) as h (name text, policy text, "policyVersion" integer, why text, requirement jsonb);
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, reason, attempt, occurred_at)
  values (p_id, 2, 'transfer.held', 'held', 'pending', p_holds -> 0 ->> 'name', 0, p_at);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
  select s.name, t.id, 2, 'transfer.held', t.account_id
  from {{schema}}.subscription s join {{schema}}.transfer t on t.id = p_id
  where s.types @> array['transfer.held'];
end
$$;
