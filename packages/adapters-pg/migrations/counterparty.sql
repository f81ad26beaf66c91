-- Counterparties that transfers give whole: who registers them, and what became of it.
-- Replaced as a whole when it changes; never change a signature, add a new name instead.

-- Gives transfers the id of their counterparty where the account has registered it, and otherwise a key to register it with:
-- one per counterparty, made of the first transfer that is taken. The caller has locked the transfers.
create or replace function {{schema}}.meet_counterparties(p_ids text[]) returns void language plpgsql as $$
begin
  with known as (
    delete from {{schema}}.counterparty_details d using {{schema}}.counterparty c, {{schema}}.transfer t
    where d.transfer_id = any (p_ids) and c.account_id = d.account_id and c.fingerprint = d.fingerprint
      and c.address_id is not null and t.id = d.transfer_id and t.stage in ('queued', 'submitting', 'awaiting_funds')
    returning d.transfer_id, c.address_id
  )
  -- One whose worker died while registering has not been sent, so it starts as one that waits.
  update {{schema}}.transfer t
  set stage = 'queued', request = jsonb_set(t.request, '{destination,addressId}', to_jsonb(k.address_id))
  from known k where t.id = k.transfer_id;
  -- In order, so that two workers cannot wait for each other.
  insert into {{schema}}.counterparty (account_id, fingerprint, idempotency_key)
  select distinct on (d.account_id, d.fingerprint) d.account_id, d.fingerprint,
    {{schema}}.submission_key('registration', t.account_id, t.idempotency_key)
  from {{schema}}.counterparty_details d join {{schema}}.transfer t on t.id = d.transfer_id
  where d.transfer_id = any (p_ids) and t.stage in ('queued', 'submitting', 'awaiting_funds')
  order by d.account_id, d.fingerprint, d.transfer_id
  on conflict do nothing;
end
$$;

-- What a worker needs to register the counterparty of a transfer that it took; null when there is nothing to register.
create or replace function {{schema}}.registration_of(p_transfer_id text) returns jsonb language plpgsql as $$
begin
  return (
    select jsonb_build_object(
      'idempotencyKey', coalesce(c.idempotency_key, {{schema}}.submission_key('registration', t.account_id, t.idempotency_key)),
      'address', d.details, 'unknownSince', {{schema}}.iso(d.unknown_since))
    from {{schema}}.counterparty_details d join {{schema}}.transfer t on t.id = d.transfer_id
    left join {{schema}}.counterparty c on c.account_id = d.account_id and c.fingerprint = d.fingerprint
    where d.transfer_id = p_transfer_id
  );
end
$$;

-- Writes what attempts found out about counterparties: an id takes the place of the details; one that was refused, or that
-- the service has no more, is forgotten. The transfers are locked by the caller.
create or replace function {{schema}}.note_counterparties(p_settlements jsonb) returns void language plpgsql as $$
begin
  update {{schema}}.counterparty_details d set unknown_since = s.registration_unknown_since
  from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, registration_unknown_since timestamptz)
  join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
  where d.transfer_id = t.id and s.registration_unknown_since is not null;

  perform 1 from {{schema}}.counterparty c
  where (c.account_id, c.fingerprint) in (
    select t.account_id, t.request #>> '{destination,address,fingerprint}'
    from jsonb_to_recordset(p_settlements) as s (id text, address_id text, forget boolean)
    join {{schema}}.transfer t on t.id = s.id where s.address_id is not null or s.forget
  ) order by c.account_id, c.fingerprint for update;
  with found as materialized (
    select t.id, t.account_id, t.request #>> '{destination,address,fingerprint}' as fingerprint, s.address_id, s.forget,
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
