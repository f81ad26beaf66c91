-- Writes the outcomes of attempts: transfers, attempts, events and jobs. `p_rules` names the rules by which they were decided.
-- Outcomes by the rules of other code are refused, since those may accept as proof what is none. A row with a newer attempt gets
-- only the line in the attempts log, unless this one was accepted. Returns the result of each: `settled`, `stale`,
-- `locked` for a transfer that another transaction has locked, of which nothing is written, or `gone` for one that a fail-over or a
-- restore has lost with its enqueue. The plans are kept, and held to indexes: they may be made while the tables are empty.
create or replace function {{schema}}.settle(p_settlements jsonb, p_rules integer) returns table (id text, attempt integer, result text)
language plpgsql set lock_timeout = '250ms'
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_locked text[];
  v_ids text[];
  v_places integer[];
  v_written jsonb;
  v_others text[];
  v_count integer;
  v_is_judged boolean;
begin
  if p_rules is distinct from 2 then
    raise exception 'These outcomes were decided by the rules % of other code; end the worker that wrote them.', p_rules using errcode = 'OUTRU';
  end if;
  v_is_judged := p_settlements @? '$[*] ? (@.credentials == "refused" || exists (@.own_refusals))'
    or exists (select 1 from {{schema}}.unauthorized_account) or exists (select 1 from {{schema}}.unauthorized_transfer);
  -- Beside a refusal, an acceptance says something of the account's credentials.
  if not v_is_judged then
    select a.places, a.ids into v_places, v_ids from {{schema}}.settle_accepted(p_settlements) a;
  end if;
  if coalesce(cardinality(v_places), 0) < jsonb_array_length(p_settlements) then
    select jsonb_agg(e.value) filter (where e.place = any (v_places)), coalesce(jsonb_agg(e.value) filter (where (e.place = any (v_places)) is not true), '[]')
    into v_written, p_settlements
    from jsonb_array_elements(p_settlements) with ordinality as e (value, place);

    v_locked := {{schema}}.lock_settled(p_settlements);
    if v_locked is not null then
      return query
      select s.id, s.attempt, 'locked'::text from jsonb_to_recordset(p_settlements) as s (id text, attempt integer)
      where s.id = any (v_locked);
      p_settlements := (
        select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(p_settlements) as e where e ->> 'id' <> all (v_locked));
    end if;

    select o.settlements, o.ids into p_settlements, v_others from {{schema}}.settle_others(p_settlements, v_is_judged) o;
    v_ids := v_ids || v_others;
    p_settlements := coalesce(v_written, '[]') || p_settlements;
  end if;
  v_count := jsonb_array_length(p_settlements);
  if p_settlements @? '$[*].return_window_ms' then
    perform {{schema}}.open_return_windows((
      select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(p_settlements) as e where e ->> 'id' = any (v_ids)));
  end if;
  -- Before the returns, which are compared with it.
  if p_settlements @? '$[*].paid' then
    perform {{schema}}.record_paid((
      select coalesce(jsonb_agg(jsonb_build_object('id', e -> 'id') || (e -> 'paid')), '[]') from jsonb_array_elements(p_settlements) as e
      where e ? 'paid' and e ->> 'remote_id' is not null and e ->> 'id' = any (v_ids)));
  end if;
  -- An answer that was late, or to a request that was sent again, has what came back since.
  if p_settlements @? '$[*].returns' then
    perform {{schema}}.record_returns((
      select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(p_settlements) as e
      where e ? 'returns' and e ->> 'remote_id' is not null and e ->> 'id' = any (v_ids)));
  end if;
  if exists (select 1 from {{schema}}.submission_slot) then
    delete from {{schema}}.submission_slot s where s.transfer_id = any (v_ids);
  end if;
  return query
  select s.id, coalesce(s.lost_attempt, s.attempt), case
    when cardinality(v_ids) = v_count or s.id = any (v_ids) then 'settled' when exists (select 1 from {{schema}}.transfer t where t.id = s.id) then 'stale' else 'gone' end
  from jsonb_to_recordset(p_settlements) as s (id text, attempt integer, lost_attempt integer);
end
$$;
