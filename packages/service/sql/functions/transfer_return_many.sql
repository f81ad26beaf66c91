-- Books what came back of complete transfers, {id, transfer_id, account_id, code, amount, currency, source_value, occurred_at, lines} each;
-- the lines reverse the end of the transfer. A wallet that does not cover its line pays what it has, and its account owes the rest; between
-- wallets, the rest is not reversed. The wallets are locked in the order of every posting, and then what is owed in the order of its key.
create or replace function {{schema}}.transfer_return_many(p_returns jsonb, p_blocks_sends boolean, p_now timestamptz)
returns void language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_return record;
  v_lines jsonb;
  v_owed jsonb := '[]';
begin
  -- Code of before quotes would credit the source with what came back at the destination.
  if exists (
    select from jsonb_to_recordset(p_returns) as r(transfer_id text, source_value numeric)
     where r.source_value is null and (select t.quote is not null from {{schema}}.transfer t where t.id = r.transfer_id)
  ) then
    raise exception 'What came back of a transfer with a quote needs its share at the source.' using errcode = 'check_violation';
  end if;
  perform from {{schema}}.ledger_account a
    where a.kind = 'custodial' and a.address_id = any (array(
      select l.address
        from jsonb_to_recordset(p_returns) as r(lines jsonb)
       cross join jsonb_to_recordset(r.lines) as l(kind text, address text)
       where l.kind = 'custodial'
    ))
    order by a.address_id, a.value_type, a.transfer_type
      for no key update;

  for v_return in
    select * from jsonb_to_recordset(p_returns) as r(
      id text, transfer_id text, account_id text, code text, amount numeric, currency text, source_value numeric,
      occurred_at timestamptz, lines jsonb
    )
  loop
    v_lines := {{schema}}.receivable_split(v_return.lines);
    v_lines := {{schema}}.return_between_wallets(v_return.lines, v_lines, v_return.amount, v_return.source_value);
    perform {{schema}}.ledger_apply(v_return.id, 'reverse', v_lines);
    v_owed := v_owed || coalesce(v_lines, '[]');
    insert into {{schema}}.transfer_return
      (id, transfer_id, account_id, code, amount_value, amount_currency, source_value, occurred_at, created_at)
    values (v_return.id, v_return.transfer_id, v_return.account_id, v_return.code, v_return.amount, v_return.currency,
            v_return.source_value, v_return.occurred_at, p_now);
  end loop;

  insert into {{schema}}.receivable as r
    (account_id, address_id, value_type, transfer_type, amount, blocks_sends, since)
  select l.account, l.address, l.value, l.rail, -sum(l.amount), p_blocks_sends, p_now
    from jsonb_to_recordset(v_owed) as l(kind text, account text, address text, value text, rail text, amount numeric)
   where l.kind = 'receivable'
   group by l.account, l.address, l.value, l.rail
   order by l.account, l.address, l.value, l.rail
      on conflict (account_id, address_id, value_type, transfer_type) do update
     set amount = r.amount + excluded.amount,
         blocks_sends = excluded.blocks_sends or (r.amount > 0 and r.blocks_sends),
         since = case when r.amount > 0 then r.since else excluded.since end;

  update {{schema}}.transfer t
     set updated_at = least(greatest(p_now, t.updated_at + interval '1 millisecond'), '9999-12-31T23:59:59.999Z')
   where t.id = any (array(select r.transfer_id from jsonb_to_recordset(p_returns) as r(transfer_id text)));
end
$$;
