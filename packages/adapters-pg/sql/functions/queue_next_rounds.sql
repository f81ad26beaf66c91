-- How many rounds the next circle of a fetch takes at once: one after the circle that began in the middle; as many as find the transfers
-- that are left to find; and twice the last ones where these had none: then only accounts of a small weight are left, and a turn of one of
-- them says little of the next.
create or replace function {{schema}}.queue_next_rounds(p_is_whole boolean, p_rounds bigint, p_found integer, p_left integer) returns bigint
language sql immutable as $$
  select greatest(1, least(10000, case
    when not p_is_whole then 1
    when p_found = 0 then 2 * p_rounds
    else p_left * p_rounds / p_found end))
$$;
drop function if exists {{schema}}.queue_next_rounds(boolean, bigint, integer, bigint, integer);
