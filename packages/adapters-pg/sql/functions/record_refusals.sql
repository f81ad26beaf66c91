-- Records which requests were refused for their credentials, and that others of their account have passed since. The caller has
-- locked the transfers; rows that another worker is writing are left to it.
create or replace function {{schema}}.record_refusals(p_settlements jsonb) returns void language plpgsql as $$
begin
  with answered as materialized (
    select t.id, {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, s.credentials, s.own_refusals
    from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, credentials text, own_refusals integer)
    join {{schema}}.transfer t on t.id = s.id and t.attempt = s.attempt and t.stage = 'submitting'
  ), refused as (
    insert into {{schema}}.unauthorized_transfer as o (transfer_id, account_id, refusals)
    select h.id, h.account_id, coalesce(h.own_refusals, 0) from answered h where h.credentials = 'refused' or h.own_refusals > 0
    on conflict (transfer_id) do update set refusals = greatest(o.refusals, excluded.refusals), passed = false
  ), accepted as (
    delete from {{schema}}.unauthorized_transfer o using answered h where o.transfer_id = h.id and h.credentials = 'good'
  ), outdone as (
    select o.transfer_id from {{schema}}.unauthorized_transfer o
    where not o.passed and o.account_id in (select h.account_id from answered h where h.credentials = 'good')
      and o.transfer_id not in (select h.id from answered h where h.credentials is not null or h.own_refusals > 0)
    for update skip locked
  )
  update {{schema}}.unauthorized_transfer o set passed = true from outdone d where o.transfer_id = d.transfer_id;
end
$$;
