-- The second line of a turn: when the next fetch goes through all accounts, in milliseconds. Empty, so at once, unless the last one took
-- long, as it does where many rows are dead. Then walks take a tenth of the time, and what only they find waits for two seconds at most.
create or replace function {{schema}}.queue_next_walk(p_began_at timestamptz) returns text language sql volatile as $$
  select case when n.took >= 5 then e'\n' || (extract(epoch from n.at) * 1000 + least(2000, 10 * n.took))::bigint else '' end
  from (select c.at, extract(epoch from c.at - p_began_at) * 1000 as took from (select clock_timestamp() as at) c) n
$$;
