-- Writes the next version of the limits, which the caller has locked. `p_sums` has a row for each currency of each. What was counted stays counted where
-- its sums are the same ones: of the same span, in the same zone, by the same keys, and narrowed in the same way, but for a list of what has sums of its own.
-- Returns a zone that this server does not know; null, and the limits are written, where it knows all, and who has set them is in the audit, so that nobody sets
-- them without that. Refuses another version than the next one. It has the rights of its owner: nobody else writes the tables. Its path keeps operators and
-- functions of a caller out.
create or replace function {{schema}}.set_limits(p_version integer, p_limits jsonb, p_sums jsonb, p_actor text, p_reason text) returns text language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_zone text;
  v_before integer := coalesce((select max(v.version) from {{schema}}.limit_version v), 0);
begin
  if p_version is distinct from v_before + 1 then
    raise exception 'The limits are of version %, so the next one is % and not %.', v_before, v_before + 1, p_version
      using errcode = 'invalid_parameter_value', hint = 'Set them with engine.limits.set or "outlay limits set".';
  end if;
  begin
    for v_zone in select distinct s.zone from jsonb_to_recordset(p_sums) as s (zone text) loop
      perform clock_timestamp() at time zone v_zone;
    end loop;
  exception when invalid_parameter_value then
    return v_zone;
  end;
  insert into {{schema}}.limit_version (version, limits, actor, reason) values (p_version, p_limits, p_actor, p_reason);
  delete from {{schema}}.sum_limit;
  insert into {{schema}}.sum_limit (name, currency, version, counter, span, zone, per, currencies, worth, most, accounts, counterparties, gateways)
  select s.name, s.currency, p_version,
    s.name || ' ' || s.currency || ' ' || left(md5(jsonb_build_array(s.span, s.zone, s.per,
      case when 'account' <> all (s.per) then s.accounts end, case when 'counterparty' <> all (s.per) then s.counterparties end,
      case when 'gateway' <> all (s.per) then s.gateways end)::text), 8),
    s.span, s.zone, s.per, s.currencies, s.worth, s.most, s.accounts, s.counterparties, s.gateways
  from jsonb_to_recordset(p_sums) as s (
    name text, currency text, span text, zone text, per text[], currencies text[], worth text[], most numeric, accounts text[], counterparties text[], gateways text[]);
  insert into {{schema}}.audit (command, actor, reason, before, after, login)
  values ('limits.set', p_actor, p_reason, jsonb_build_object('version', v_before, 'limits',
      coalesce((select v.limits from {{schema}}.limit_version v where v.version = v_before), '[]')),
    jsonb_build_object('version', p_version, 'limits', p_limits), session_user);
  perform {{schema}}.compare_sum_holds();
  return null;
end
$$;
