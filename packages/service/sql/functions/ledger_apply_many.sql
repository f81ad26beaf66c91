-- Posts steps that are not holds, {posting, step, lines} each. A line is {kind, account, address, value, rail, bucket, amount}; the
-- amount is signed. A step that is there already is left out. Returns the postings whose step was written. The wallets of all steps
-- are locked in one order, so postings never deadlock.
create or replace function {{schema}}.ledger_apply_many(p_steps jsonb) returns text[] language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_steps jsonb;
  v_applied text[];
  v_lines int;
  v_written int;
begin
  -- Columns, since the index serves no comparison with the result of `->>`: that may leak, so row-level security comes first.
  with given as materialized (
    select g.*
      from (
        select e.value, e.value ->> 'posting' as posting, e.value ->> 'step' as step, e.value -> 'lines' as lines
          from jsonb_array_elements(p_steps) e
      ) g
     where jsonb_array_length(g.lines) > 0
  )
  select jsonb_agg(g.value), array_agg(g.posting), sum(jsonb_array_length(g.lines)) into v_steps, v_applied, v_lines
    from given g
   where not exists (
     select from {{schema}}.ledger_entry e where e.posting_id = g.posting and e.step = g.step
   );
  if v_steps is null then
    return '{}';
  end if;

  insert into {{schema}}.ledger_account (kind, account_id, address_id, value_type, transfer_type)
  select distinct l.kind, l.account, l.address, l.value, l.rail
    from {{schema}}.ledger_lines(v_steps) l
   where not exists (
     select from {{schema}}.ledger_account a
      where a.kind = l.kind and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail
   )
  on conflict do nothing;

  with change as materialized (
    select l.address, l.value, l.rail,
           coalesce(sum(l.amount) filter (where l.bucket = 'available'), 0) as available,
           coalesce(sum(l.amount) filter (where l.bucket = 'held'), 0) as held
      from {{schema}}.ledger_lines(v_steps) l
     where l.kind = 'custodial'
     group by l.address, l.value, l.rail
  ), locked as materialized (
    select a.id, c.available, c.held
      from change c
      join {{schema}}.ledger_account a
        on a.kind = 'custodial' and a.address_id = c.address and a.value_type = c.value and a.transfer_type = c.rail
     order by a.address_id, a.value_type, a.transfer_type
       for no key update of a
  )
  update {{schema}}.ledger_account a
     set available = a.available + l.available, held = a.held + l.held
    from locked l
   where a.id = l.id;

  -- In one statement, behind which the trigger finds each step complete.
  insert into {{schema}}.ledger_entry (posting_id, step, line, ledger_account_id, bucket, value_type, amount)
  select l.posting, l.step, l.line, a.id, l.bucket, l.value, l.amount
    from {{schema}}.ledger_lines(v_steps) l
    join {{schema}}.ledger_account a
      on a.kind = l.kind and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail;
  get diagnostics v_written = row_count;
  if v_written <> v_lines then
    raise exception 'Of % lines % have a ledger account.', v_lines, v_written;
  end if;
  return v_applied;
end
$$;
