-- Makes exceptions of applied facts that say otherwise than their transfers have ended: {id, status, failure} each. The money of a wire that has
-- settled is credited to nobody then, so it is in the settlement account until a person has decided; `book_ends_of_arrivals` does the same for one that
-- has arrived. It acts as the system, as facts are nobody's else, while the caller may act for the client that canceled the transfer.
-- `rail_fact_contradicted` says which ones it made.
create or replace function {{schema}}.rail_fact_contradict(p_ended jsonb) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_system constant text := coalesce(current_setting('outlay.system', true), '');
  v_before constant text := coalesce(current_setting('outlay.contradicted', true), '');
  v_ids text[];
  v_receipts jsonb;
begin
  perform set_config('outlay.system', 'on', true);
  with contradicted as (
    update {{schema}}.rail_fact f
       set applied_at = null, exception_reason = 'status_contradicted'
     where f.id = any (array(
       select o.id
         from jsonb_to_recordset(p_ended) as c(id text, status text, failure jsonb)
        cross join lateral (
          select a.id, a.kind, a.payload from {{schema}}.rail_fact a
           where a.transfer_id = c.id and a.applied_at is not null and a.exception_reason is null
          offset 0
        ) o
        where o.kind = any (case c.status when 'complete' then array['rejected', 'returned', 'canceled'] else array['settled'] end)
          and not coalesce((coalesce(nullif(c.failure, 'null'), o.payload -> 'failure') ->> 'retriable')::boolean, false)
     ))
    returning f.id, f.kind, f.rail, f.transfer_id, f.amount_value
  ), receipt as (
    -- Several reports of one wire are one receipt, in the currency of its bank.
    select distinct on (c.transfer_id) c.*, t.source_value_type
      from contradicted c
     cross join lateral (
       select t.source_value_type from {{schema}}.transfer t where t.id = c.transfer_id and t.wire_instructions is not null offset 0
     ) t
     where c.kind = 'settled' and c.rail is not null and c.amount_value is not null
     order by c.transfer_id, c.id
  )
  select array_agg(c.id), (
    select jsonb_agg(jsonb_build_object('posting', r.id, 'step', 'deposit', 'lines', (
             select jsonb_agg(jsonb_build_object('kind', l.kind, 'account', '', 'address', '', 'value', r.source_value_type,
                                                 'rail', r.rail, 'bucket', 'available', 'amount', l.sign * r.amount_value) order by l.sign)
               from (values ('outside', -1), ('settlement', 1)) as l(kind, sign)
           )))
      from receipt r
  ) into v_ids, v_receipts from contradicted c;
  if v_receipts is not null then
    perform {{schema}}.ledger_apply_many(v_receipts);
  end if;
  v_ids := coalesce(v_ids, '{}') || {{schema}}.contradict_accepted(p_ended);
  v_ids := nullif(v_ids || {{schema}}.book_ends_of_arrivals(p_ended, v_ids), '{}');
  if v_ids is not null then
    perform set_config('outlay.contradicted', concat_ws(',', nullif(v_before, ''), array_to_string(v_ids, ',')), true);
  end if;
  perform set_config('outlay.system', v_system, true);
end
$$;
