-- Records what answers say about the credentials of accounts. An answer counts only when no refusal has come since its claim: of a
-- hundred in flight one is enough. Adds an event for each account whose credentials turned. The caller has locked the transfers.
-- Skips an account whose row a host has locked to retry its credentials: the next probe reports that.
create or replace function {{schema}}.record_credentials(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_news jsonb;
  v_free text[];
begin
  v_free := array(
    select r.account_id from {{schema}}.unauthorized_account r
    where r.account_id in (
      select {{schema}}.gateway_account(t.gateway, t.account_id) from jsonb_to_recordset(p_settlements) as s (id text) join {{schema}}.transfer t on t.id = s.id)
    order by r.account_id for update skip locked);
  perform {{schema}}.record_refusals(p_settlements);
  with verdict as materialized (
    select distinct on (1) {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, s.id, s.credentials, s.refusals,
      clock_timestamp() + coalesce(s.retry_ms, 0) * interval '1 millisecond' as probe_at
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, credentials text, refusals integer, retry_ms bigint)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
    where {{schema}}.gateway_account(t.gateway, t.account_id) = any (v_free) or not exists (
      select 1 from {{schema}}.unauthorized_account r where r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))
    -- An answer that says nothing of the credentials, such as that of a transfer that was not sent, counts behind those that do.
    order by 1, s.refusals desc, s.credentials is distinct from 'refused', s.credentials is null, s.id
  ), refused as (
    -- Where one transfer was refused alone before, another one probes at once.
    insert into {{schema}}.unauthorized_account as r (account_id, probed_id, probe_at)
    select v.account_id, v.id, case when exists (
        select 1 from {{schema}}.unauthorized_transfer o where o.account_id = v.account_id and o.refusals + o.passed::integer > 0)
      then clock_timestamp() else v.probe_at end
    from verdict v where v.credentials = 'refused'
    on conflict (account_id) do update
    set refusals = r.refusals + 1, probe_at = excluded.probe_at
    where r.refusals = (select v.refusals from verdict v where v.account_id = r.account_id)
    returning r.account_id, r.refusals
  ), restored as (
    delete from {{schema}}.unauthorized_account r using verdict v
    where r.account_id = v.account_id and v.credentials = 'good' and r.refusals = v.refusals
    returning r.account_id
  ), undecided as (
    -- Its backoff is its own: another one probes within a minute.
    update {{schema}}.unauthorized_account r set probe_at = least(v.probe_at, clock_timestamp() + interval '1 minute') from verdict v
    where r.account_id = v.account_id and v.credentials is null and r.refusals = v.refusals and r.probed_id = v.id
  )
  select jsonb_object_agg(v.id, 'account.credentials_' || n.turn) into v_news
  from verdict v join (
    select f.account_id, 'refused' as turn from refused f where f.refusals = 1
    union all select o.account_id, 'restored' from restored o
  ) n on n.account_id = v.account_id;
  return case when v_news is null then p_settlements else (
    select jsonb_agg(case when v_news ? (e ->> 'id')
      then jsonb_set(e, '{events}', jsonb_build_array(v_news -> (e ->> 'id')) || (e -> 'events')) else e end)
    from jsonb_array_elements(p_settlements) as e
  ) end;
end
$$;
