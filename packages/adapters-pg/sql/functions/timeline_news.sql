-- What a timeline other than the recorded one means: null where it is the same one, and where one is not known.
--
-- It is a fail-over when the server started before the recorded `seen_at`: it was a standby then, and that row was streamed to it. A server
-- that started later was restored, and the service may be ahead of it. A `seen_at` in the future is from a clock that was ahead and
-- proves nothing: a fail-over counts as a restore then, and the watch of the clock may have recorded a new one.
create or replace function {{schema}}.timeline_news(p_known {{schema}}.known_database, p_timeline bigint, p_started_at timestamptz)
returns text language sql volatile as $$
  select case
    when (p_timeline <> p_known.timeline) is not true then null
    when p_started_at < p_known.seen_at and p_known.seen_at < clock_timestamp() + interval '30 seconds' then 'failed_over'
    else 'restored'
  end
$$;
