-- Writes what attempts found out about counterparties: an id replaces the details; one that was refused, or that the service no
-- longer has, is forgotten. The caller has locked the transfers.
create or replace function {{schema}}.record_counterparties(p_settlements jsonb) returns void language plpgsql as $$
begin
  update {{schema}}.counterparty_details d set unknown_since = s.registration_unknown_since
  from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, registration_unknown_since timestamptz)
  join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
  where d.transfer_id = t.id and s.registration_unknown_since is not null;

  perform 1 from {{schema}}.counterparty c
  where (c.account_id, c.fingerprint) in (
    select {{schema}}.gateway_account(t.gateway, t.account_id), t.request #>> '{destination,address,fingerprint}'
    from jsonb_to_recordset(p_settlements) as s (id text, address_id text, forget boolean)
    join {{schema}}.transfer t on t.id = s.id where s.address_id is not null or s.forget
  ) order by c.account_id, c.fingerprint for update;
  with found as materialized (
    select t.id, {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, t.request #>> '{destination,address,fingerprint}' as fingerprint, s.address_id, s.forget,
      t.request #>> '{destination,addressId}' as sent_to
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, address_id text, forget boolean)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    where s.address_id is not null or s.forget
  ), bound as (
    update {{schema}}.transfer t set request = jsonb_set(t.request, '{destination,addressId}', to_jsonb(f.address_id))
    from found f where t.id = f.id and f.address_id is not null
    returning t.id
  ), wiped as (
    delete from {{schema}}.counterparty_details d using bound b where d.transfer_id = b.id
  ), known as (
    update {{schema}}.counterparty c set address_id = f.address_id from found f
    where c.account_id = f.account_id and c.fingerprint = f.fingerprint and c.address_id is null and f.address_id is not null
  )
  delete from {{schema}}.counterparty c using found f
  where f.forget and c.account_id = f.account_id and c.fingerprint = f.fingerprint
    and c.address_id is not distinct from f.sent_to;
end
$$;
