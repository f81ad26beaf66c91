-- The hour, day or month of the calendar in a zone that a time is in. Days that a change of the clocks makes longer or shorter are one day each. An
-- hour is sixty minutes: where the clocks go back, the hour that comes twice is two.
create or replace function {{schema}}.limit_window(p_span text, p_zone text, p_at timestamptz, out began_at timestamptz, out until timestamptz)
language sql stable as $$
  select
    case p_span when 'hour' then p_at - (l.at - date_trunc('hour', l.at)) else date_trunc(p_span, l.at) at time zone p_zone end,
    case p_span when 'hour' then p_at - (l.at - date_trunc('hour', l.at)) + interval '1 hour'
      else (date_trunc(p_span, l.at) + case p_span when 'day' then interval '1 day' else interval '1 month' end) at time zone p_zone end
  from (select p_at at time zone p_zone as at) l
$$;
