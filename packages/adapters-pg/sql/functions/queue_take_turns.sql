-- Removes transfers to these gateways, or to all, that are ready from the outbox. Accounts take turns at each gateway: in each round an account may have as
-- many transfers as its weight says, the oldest first; below a weight of one, it has a turn in some rounds only. `p_turn` is where the
-- last fetch of the worker left off: the round, how many transfers the last account had of its turn, and the account; null for a worker
-- that begins. Returns the jobs in the order of the turns, how often each was fetched before, and the next turn.
--
-- Where a round has fewer transfers than the limit, the next turns are those of several rounds at once, and what is fetched is what single
-- rounds would fetch. Where nobody had a turn, the next round is the one that somebody needs. The number of circles has a bound:
-- accounts that begin to wait meanwhile would make this go on.
create or replace function {{schema}}.queue_take_turns(
  p_limit integer, p_turn text, p_gateways text[], out ids uuid[], out fetches integer[], out turn text
) language plpgsql as $$
declare
  v_turn text := coalesce(p_turn, {{schema}}.queue_first_turn());
  v_round bigint := split_part(v_turn, ' ', 1)::bigint % 1000000000000;
  v_used bigint := split_part(v_turn, ' ', 2)::bigint;
  v_account text collate "C" := regexp_replace(v_turn, '^\d+ \d+ |\n\d+$', '', 'g');
  v_weight double precision;
  v_behind text;
  v_next record;
  -- A circle leads through all accounts, for so many rounds at once. The first one may begin in the middle, and is one round.
  v_rounds bigint := 1;
  v_is_whole boolean := false;
  v_found integer := 0;
  -- How many rounds lead to the next turn of an account that was passed; null when none was.
  v_needed bigint;
  v_circles integer := 0;
  -- Accounts that had fewer than their turn: whatever they still have is locked.
  v_exhausted text[] := '{}';
  v_began_at timestamptz := clock_timestamp();
begin
  ids := '{}'; fetches := '{}';
  while cardinality(ids) < p_limit loop
    if v_account is null then
      v_round := v_round + greatest(v_rounds, case when v_is_whole and v_found = 0 then v_needed - 1 end);
      exit when (v_is_whole and v_found = 0 and v_needed is null) or v_circles = 8;
      v_rounds := {{schema}}.queue_next_rounds(v_is_whole, v_rounds, v_found, p_limit - cardinality(ids));
      v_circles := v_circles + 1;
      v_is_whole := true;
      v_found := 0;
      v_needed := null;
      v_account := '';
    end if;
    -- The statement for all accounts is dear where there is none.
    if v_used = 0 then
      select o.account_id into v_behind from {{schema}}.outbox o where o.ready and o.account_id > v_account order by o.account_id limit 1;
      if v_behind is null then
        v_account := null;
        continue;
      end if;
    end if;
    v_next := {{schema}}.queue_dequeue_turns(v_account, v_used, v_round, v_rounds, v_exhausted, p_limit - cardinality(ids), p_gateways, p_limit + 10000);
    v_rounds := v_next.rounds; v_round := v_round + coalesce(v_next.passed, 0);
    v_found := v_found + coalesce(cardinality(v_next.ids), 0);
    v_needed := least(v_needed, v_next.needed);
    v_exhausted := v_exhausted || v_next.exhausted;
    ids := ids || v_next.ids;
    fetches := fetches || v_next.fetches;
    v_account := v_next.last_account;
    v_used := coalesce(v_next.last_used, 0);
  end loop;
  -- Only a full fetch ends a turn before it is used up.
  if v_used > 0 then
    v_weight := coalesce((select f.weight from {{schema}}.account f where f.account_id = {{schema}}.account_of(v_account)), 1);
    v_used := case when floor(v_weight * (v_round + 1)) - floor(v_weight * v_round) > v_used then v_used else 0 end;
  end if;
  turn := v_round || ' ' || v_used || ' ' || coalesce(v_account, '')
    || case when v_account is null and v_found = 0 and v_needed is null then {{schema}}.queue_next_walk(v_began_at) else '' end;
end
$$;
