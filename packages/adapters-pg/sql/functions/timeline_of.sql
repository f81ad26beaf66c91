create or replace function {{schema}}.timeline_of(p_transfer_id text)
returns table (at timestamptz, what text, detail text) language sql stable as $$
  with attempts as materialized (
    select * from {{schema}}.logged_attempts_of(p_transfer_id)
  )
  select l.at, l.what, l.detail from (
    select a.claimed_at as at, 1 as rank, concat_ws(' ', 'attempt', a.attempt, a.step) as what, 'claimed by ' || a.worker || coalesce(' for the gateway ' || a.gateway, '') as detail from attempts a
    union all
    select a.answered_at, 2, concat_ws(' ', 'attempt', a.attempt, a.step, a.outcome),
      concat_ws(', ', 'HTTP ' || a.http_status, 'request ' || a.request_id, a.detail)
    from attempts a where a.answered_at is not null
    union all
    select e.occurred_at, 3, e.type, concat_ws(', ', e.stage, e.status, e.reason, e.failure ->> 'code', e.failure ->> 'detail',
      e.returned ->> 'code', (e.returned -> 'amount' ->> 'value') || ' ' || (e.returned -> 'amount' ->> 'currency'))
    from {{schema}}.events_of(p_transfer_id) e
    union all
    select r.seen_at, 3, 'return held', concat_ws(', ', r.problem, r.code, r.amount::text || ' ' || r.currency)
    from {{schema}}.transfer_return r where r.transfer_id = p_transfer_id and r.problem is not null
    union all
    select r.resolved_at, 3, 'return ' || case when r.problem is null then 'corrected' else 'dismissed' end,
      concat_ws(', ', 'by ' || r.resolved_by, r.resolution_note, 'reported as ' || r.identity)
    from {{schema}}.transfer_return r where r.transfer_id = p_transfer_id and r.resolved_at is not null
    union all
    select s.answered_at, 2, 'screening ' || s.result || case when s.counted then '' else ', without effect' end,
      concat_ws(', ', 'by ' || s.given_by, 'case ' || s.case_id, s.note)
    from {{schema}}.screening_answer s where s.transfer_id = p_transfer_id
  ) l order by l.at, l.rank
$$;
comment on function {{schema}}.timeline_of(text) is 'What happened to one transfer, attempts and events together, oldest first.';
