-- The lines of steps of the ledger, {posting, step, lines} each, numbered within each step.
create or replace function {{schema}}.ledger_lines(p_steps jsonb) returns table (
  posting text, step text, line bigint, kind text, account text, address text, value text, rail text, bucket text, amount numeric
) language sql immutable as $$
  select s.posting, s.step, l.line, l.kind, l.account, l.address, l.value, l.rail, l.bucket, l.amount
    from jsonb_to_recordset(p_steps) as s(posting text, step text, lines jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(s.lines)
             as (kind text, account text, address text, value text, rail text, bucket text, amount numeric)
         ) with ordinality as l(kind, account, address, value, rail, bucket, amount, line)
$$;
