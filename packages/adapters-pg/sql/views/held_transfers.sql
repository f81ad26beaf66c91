create or replace view {{schema}}.held_transfers as
select t.id, t.account_id, t.gateway, h.name, nullif(h.policy, '') as policy, h.policy_version, h.why, h.actor, h.requirement, h.since,
  now() - h.since as held_for, (select x.created_by from {{schema}}.transfer_creator x where x.transfer_id = t.id) as created_by,
  (select count(*)::integer from {{schema}}.approval a where a.transfer_id = t.id) as approvals,
  t.request -> 'amount' ->> 'value' as amount, t.request -> 'amount' ->> 'currency' as currency, t.batch_id
from {{schema}}.hold h join {{schema}}.transfer t on t.id = h.transfer_id and t.stage = 'held';
comment on view {{schema}}.held_transfers is 'What people have to approve or release before it is sent, one row for each hold.';
comment on column {{schema}}.held_transfers.requirement is 'What has to be approved, as the policy had it then.';
