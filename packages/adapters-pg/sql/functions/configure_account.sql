-- Changes limits of an account: an absent member stays, null resets.
create or replace function {{schema}}.configure_account(p_account_id text, p_limits jsonb, p_notify boolean) returns void language plpgsql as $$
begin
  insert into {{schema}}.account as a (account_id, rate_per_second, concurrency, weight)
  values (p_account_id, (p_limits ->> 'ratePerSecond')::double precision, (p_limits ->> 'concurrency')::integer,
    coalesce((p_limits ->> 'weight')::double precision, 1))
  on conflict (account_id) do update set
    rate_per_second = case when p_limits ? 'ratePerSecond' then excluded.rate_per_second else a.rate_per_second end,
    concurrency = case when p_limits ? 'concurrency' then excluded.concurrency else a.concurrency end,
    weight = case when p_limits ? 'weight' then excluded.weight else a.weight end;
  if p_notify then
    perform pg_notify('{{channel}}', '');
  end if;
end
$$;
