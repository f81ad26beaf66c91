-- Writes transfers for the found transfers with these accounts and ids, and returns the ids of the new rows. The caller has locked
-- the found rows. One that cannot be written fails the call.
create or replace function {{schema}}.adopt_all(p_account_ids text[], p_remote_ids text[]) returns text[] language plpgsql as $$
declare
  v_ids text[];
  v_event_ids text[];
  v_sequences integer[];
  v_types text[];
  v_complete jsonb;
begin
  with ready as (
    delete from {{schema}}.found_transfer f using unnest(p_account_ids, p_remote_ids) as r (account_id, remote_id)
    where f.account_id = r.account_id and f.remote_id = r.remote_id
    returning f.account_id, f.remote_id, f.transfer
  ), adopted as (
    insert into {{schema}}.transfer (id, account_id, gateway, idempotency_key, fingerprint, request, stage, status, failure, remote_id,
      event_sequence, reached_at, next_poll_at)
    select n.id, {{schema}}.account_of(k.account_id), {{schema}}.gateway_of(k.account_id), n.key, n.fingerprint, n.request, n.stage, n.status, nullif(n.failure, 'null'::jsonb), k.remote_id,
      cardinality(n.events), n.reached_at, case when n.stage = 'submitted' then clock_timestamp() end
    from ready k cross join lateral jsonb_to_record(k.transfer) as n (
      id text, key text, fingerprint text, request jsonb, stage text, status text, failure jsonb, reached_at timestamptz,
      events text[])
    -- Another transfer has got the id in between. What cannot be written for any other reason stays found.
    on conflict (remote_id, account_id, gateway) where remote_id is not null do nothing
    returning id, {{schema}}.gateway_account(gateway, account_id) as account_id, remote_id
  ), recorded as (
    select a.id, e.ordinality::integer as sequence, e.type
    from adopted a join ready k on k.account_id = a.account_id and k.remote_id = a.remote_id
    cross join lateral jsonb_array_elements_text(k.transfer -> 'events') with ordinality as e (type, ordinality)
  )
  select (select array_agg(a.id) from adopted a), array_agg(t.id), array_agg(t.sequence), array_agg(t.type), (
    select jsonb_agg(jsonb_build_object('id', a.id, 'returns', k.transfer -> 'returns', 'changed_at', k.transfer -> 'changed_at', 'return_window_ms', k.transfer -> 'return_window_ms'))
    from adopted a join ready k on k.account_id = a.account_id and k.remote_id = a.remote_id
    where k.transfer ?| array['returns', 'return_window_ms'])
  into v_ids, v_event_ids, v_sequences, v_types, v_complete
  from recorded t;
  if v_event_ids is not null then
    perform {{schema}}.record_events(v_event_ids, v_sequences, v_types);
  end if;
  if v_complete is not null then
    perform {{schema}}.open_return_windows(v_complete);
    perform {{schema}}.record_returns(v_complete);
  end if;
  return coalesce(v_ids, '{}');
end
$$;
