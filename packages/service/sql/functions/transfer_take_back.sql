-- Reverses the receipts of deposits that went back before anything was minted for them. Takes effect once for each transfer; one without a receipt
-- changes nothing.
create or replace function {{schema}}.transfer_take_back(p_transfer_ids text[]) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_steps jsonb;
begin
  select jsonb_agg(jsonb_build_object('posting', r.posting_id, 'step', 'reverse', 'lines', r.lines)) into v_steps
    from (
      select e.posting_id,
             jsonb_agg(jsonb_build_object('kind', a.kind, 'account', a.account_id, 'address', a.address_id, 'value', a.value_type,
                                          'rail', a.transfer_type, 'bucket', e.bucket, 'amount', -e.amount) order by e.line) as lines
        from {{schema}}.ledger_entry e
       cross join lateral (select o.* from {{schema}}.ledger_account o where o.id = e.ledger_account_id offset 0) a
       where e.posting_id = any (p_transfer_ids) and e.step = 'deposit'
       group by e.posting_id
    ) r;
  if v_steps is not null then
    perform {{schema}}.ledger_apply_many(v_steps);
  end if;
end
$$;
