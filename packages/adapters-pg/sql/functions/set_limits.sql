-- Writes the next version of the limits, which the caller has locked. `p_sums` has a row for each currency of each. What was counted stays counted where
-- nothing but the sum has changed. Returns a zone that this server does not know; null, and the limits are written, where it knows all.
create or replace function {{schema}}.set_limits(p_version integer, p_limits jsonb, p_sums jsonb, p_actor text, p_reason text) returns text language plpgsql as $$
declare
  v_zone text;
begin
  begin
    for v_zone in select distinct s.zone from jsonb_to_recordset(p_sums) as s (zone text) loop
      perform clock_timestamp() at time zone v_zone;
    end loop;
  exception when invalid_parameter_value then
    return v_zone;
  end;
  insert into {{schema}}.limit_version (version, limits, actor, reason) values (p_version, p_limits, p_actor, p_reason);
  delete from {{schema}}.sum_limit;
  insert into {{schema}}.sum_limit (name, currency, version, counter, span, zone, per, currencies, most, accounts, counterparties, gateways)
  select s.name, s.currency, p_version,
    s.name || ' ' || s.currency || ' ' || left(md5(jsonb_build_array(s.span, s.zone, s.per, s.currencies, s.accounts, s.counterparties, s.gateways)::text), 8),
    s.span, s.zone, s.per, s.currencies, s.most, s.accounts, s.counterparties, s.gateways
  from jsonb_to_recordset(p_sums) as s (
    name text, currency text, span text, zone text, per text[], currencies text[], most numeric, accounts text[], counterparties text[], gateways text[]);
  return null;
end
$$;
