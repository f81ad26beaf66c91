-- Writes answers about transfers, which the caller has locked, at most one about each, and does what they say: a list of JSON objects with `id`, `ask`, `result`, `case`, `note`
-- and `by`. `ask` is the call that gave it, absent where it came by itself. Returns in their order what became of each: `released` where nothing holds the transfer any more,
-- `passed` where something else does, `held`, `refused`, and `late` where it changed nothing.
--
-- A pass counts where it is that of the last call, and nothing has put the transfer on hold. What keeps money from leaving counts as long as screening holds the transfer, however
-- late it is. The plans are kept, and held to indexes.
create or replace function {{schema}}.write_screening_answers(p_answers jsonb, p_notify boolean) returns text[] language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  v_is_fenced boolean := exists (select from {{schema}}.known_database d where d.fenced_since is not null);
  v_passed text[];
  v_held text[];
  v_refused text[];
  v_repeated text[];
  v_released text[];
begin
  perform from {{schema}}.screening s where s.transfer_id = any (array(select e ->> 'id' from jsonb_array_elements(p_answers) e)) order by s.transfer_id for update;
  -- Behind the locks: what others wrote until they unlocked them counts.
  with given as materialized (
    select a.id, a.result, a."case", a.note, a."by", t.fingerprint, coalesce(l.number, 0) + 1 as number,
      coalesce(s.transfer_id is not null and t.stage = 'held' and {{schema}}.effect_of(t) = 'none' and (a.ask is null or not v_is_fenced) and case
        when a.ask is null or a.result = 'refuse' then true
        when a.result = 'hold' then not s.on_hold
        else s.asks = a.ask and not s.on_hold end, false) as is_counted,
      coalesce(l.result = a.result and l.case_id is not distinct from a."case" and l.given_by = a."by", false) as is_repeated,
      l.counted and a.ask is not null as was_counted
    from jsonb_to_recordset(p_answers) as a (id text, ask integer, result text, "case" text, note text, "by" text)
    join {{schema}}.transfer t on t.id = a.id
    left join {{schema}}.screening s on s.transfer_id = a.id
    left join lateral (select w.* from {{schema}}.screening_answer w where w.transfer_id = a.id order by w.number desc limit 1) l on true
  ), written as (
    -- What is said again, as webhooks are, is not written again.
    insert into {{schema}}.screening_answer (transfer_id, number, result, case_id, note, given_by, counted, fingerprint)
    select g.id, g.number, g.result, g."case", g.note, g."by", g.is_counted, g.fingerprint from given g where g.is_counted or not g.is_repeated
  )
  select array_agg(g.id) filter (where g.is_counted and g.result = 'pass'), array_agg(g.id) filter (where g.is_counted and g.result = 'hold'),
    array_agg(g.id) filter (where g.is_counted and g.result = 'refuse'), array_agg(g.id) filter (where not g.is_counted and g.is_repeated and g.was_counted)
  into v_passed, v_held, v_refused, v_repeated from given g;

  if v_passed is not null then
    delete from {{schema}}.hold h where h.transfer_id = any (v_passed) and h.name = 'screening';
    v_released := {{schema}}.release_unheld(v_passed, p_notify);
  end if;
  if v_held is not null then
    -- A pass of the call before is none of this one.
    update {{schema}}.screening s
    set on_hold = true, case_id = a."case", asks = s.asks + 1, failures = 0, failing_since = null, last_error = null
    from jsonb_to_recordset(p_answers) as a (id text, "case" text) where a.id = any (v_held) and s.transfer_id = a.id;
    update {{schema}}.transfer t set updated_at = clock_timestamp() where t.id = any (v_held);
  end if;
  if v_refused is not null then
    perform {{schema}}.end_refused_by_screening(v_refused);
  end if;
  -- A worker whose connection was lost behind the commit says its answer again: what became of it is returned once more.
  return array(
    select case when a.id = any (v_released) then 'released' when a.id = any (v_passed) then 'passed' when a.id = any (v_held) then 'held'
      when a.id = any (v_refused) then 'refused' when a.id = any (v_repeated) then case a.result when 'pass' then 'passed' when 'hold' then 'held' else 'refused' end
      else 'late' end
    from (select e.value ->> 'id' as id, e.value ->> 'result' as result, e.place from jsonb_array_elements(p_answers) with ordinality as e (value, place)) a
    order by a.place);
end
$$;
