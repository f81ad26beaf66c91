-- What a worker needs to register the counterparty of a transfer that it claimed; null when there is nothing to register.
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
