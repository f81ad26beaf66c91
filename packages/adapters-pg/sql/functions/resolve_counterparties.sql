-- Gives transfers the id of their counterparty where the account has registered it, and otherwise a key to register it with:
-- one per counterparty, made of the first transfer that is claimed. The caller has locked the transfers.
create or replace function {{schema}}.resolve_counterparties(p_ids text[]) returns void language plpgsql as $$
begin
  -- Of an earlier release, which kept nothing of the payee. It waits for nobody: another time will do.
  with lacking as materialized (
    select c.account_id, c.fingerprint, {{schema}}.payee_of(d.details) as payee
    from {{schema}}.counterparty_details d
    join {{schema}}.counterparty c on c.account_id = d.account_id and c.fingerprint = d.fingerprint
    where d.transfer_id = any (p_ids) and c.payee is null for update of c skip locked
  )
  update {{schema}}.counterparty c set payee = l.payee from lacking l
  where c.account_id = l.account_id and c.fingerprint = l.fingerprint;
  with known as (
    delete from {{schema}}.counterparty_details d using {{schema}}.counterparty c, {{schema}}.transfer t
    where d.transfer_id = any (p_ids) and c.account_id = d.account_id and c.fingerprint = d.fingerprint
      and c.address_id is not null and t.id = d.transfer_id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    returning d.transfer_id, c.address_id
  )
  -- A transfer whose worker died while registering has not been sent, so it starts as a waiting one.
  update {{schema}}.transfer t
  set stage = 'queued', request = jsonb_set(t.request, '{destination,addressId}', to_jsonb(k.address_id))
  from known k where t.id = k.transfer_id;
  -- In order, so that two workers cannot wait for each other.
  insert into {{schema}}.counterparty (account_id, fingerprint, idempotency_key, payee)
  select distinct on (d.account_id, d.fingerprint) d.account_id, d.fingerprint,
    {{schema}}.submission_key('registration', t.account_id, t.idempotency_key), {{schema}}.payee_of(d.details)
  from {{schema}}.counterparty_details d join {{schema}}.transfer t on t.id = d.transfer_id
  where d.transfer_id = any (p_ids) and t.stage in ('queued', 'submitting', 'awaiting_funds')
  order by d.account_id, d.fingerprint, d.transfer_id
  on conflict do nothing;
end
$$;
