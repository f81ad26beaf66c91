-- Lets another gateway take over the transfers whose settlements name one in `reroute_to`, where they are refusals and the log proves that
-- nothing moved: every attempt has a definite answer of its own gateway, nothing was ever accepted, and the other gateway was never asked.
-- Their rows change gateways as their answers are logged. All other settlements stay what they are, and the log says so. Behind a
-- fence nothing is rerouted: the log of a restored database has gaps. The caller has locked the transfers.
create or replace function {{schema}}.reroute(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_ids text[];
begin
  with s as materialized (
    select * from jsonb_to_recordset(p_settlements) as s (
      id text, attempt integer, worker text, sent_to text, reroute_to text, outcome text, http_status integer, remote_id text,
      unknown_since timestamptz)
    where s.reroute_to is not null
  ), moved as (
    select t.id, s.sent_to, s.reroute_to, t.attempt from s
    -- One by one: a plan that is kept from when the table was small would read all of it.
    cross join lateral (select t.* from {{schema}}.transfer t where t.id = s.id offset 0) t
    where t.attempt = s.attempt and t.stage = 'submitting' and t.status = 'pending' and t.remote_id is null
      and t.unknown_since is null and s.unknown_since is null and s.remote_id is null
      and t.gateway = s.sent_to and t.gateway <> s.reroute_to
      and s.outcome = 'rejected'
      and coalesce(s.http_status, 0) not in (408, 409, 425, 429) and coalesce(s.http_status, 0) < 500
      -- Addresses that one gateway registered do not exist at another one.
      and t.request #> '{destination,address}' is null
      and not exists (select 1 from {{schema}}.known_database h where h.fenced_since is not null)
      and not exists (select 1 from {{schema}}.reroute r where r.transfer_id = t.id and r.from_gateway in (t.gateway, s.reroute_to))
      and exists (
        select 1 from {{schema}}.attempt a
        where a.transfer_id = t.id and a.attempt = t.attempt and a.worker = s.worker and a.gateway = t.gateway and a.answered_at is null)
      and not exists (
        select 1 from {{schema}}.logged_attempts_of(t.id) a
        where a.gateway is null or a.gateway = s.reroute_to or a.remote_id is not null or a.unmatched is not null
          or a.attempt <> t.attempt and (a.answered_at is null
            or a.outcome not in ('rejected', 'insufficient_balance', 'unauthorized', 'throttled', 'stopped')
            -- A key in flight is a request that nobody here has the answer to.
            or a.http_status in (408, 409, 425) or a.http_status >= 500))
      -- Another answer, to a claim that was lost, would count before this one.
      and (select count(*) from jsonb_array_elements(p_settlements) as e where e ->> 'id' = t.id) = 1
  ), noted as (
    insert into {{schema}}.reroute (transfer_id, from_gateway, to_gateway, attempt)
    select m.id, m.sent_to, m.reroute_to, m.attempt from moved m
  )
  select coalesce(array_agg(m.id), '{}') into v_ids from moved m;
  return (
    select jsonb_agg(case
        when not e.value ? 'reroute_to' then e.value
        when e.value ->> 'id' = any (v_ids) then e.value || jsonb_build_object(
          'gateway', e.value -> 'reroute_to', 'stage', 'queued', 'status', 'pending', 'failure', null, 'reason', null, 'retry_ms', 0, 'events', jsonb_build_array('transfer.rerouted'),
          'detail', concat_ws('; ', e.value ->> 'detail', 'rerouted to ' || (e.value ->> 'reroute_to')))
        else e.value || jsonb_build_object(
          'detail', concat_ws('; ', e.value ->> 'detail', 'not rerouted to ' || (e.value ->> 'reroute_to')
            || ': the log does not prove that nothing moved, or that gateway has refused it before')) end
      order by e.place)
    from jsonb_array_elements(p_settlements) with ordinality as e (value, place));
end
$$;
