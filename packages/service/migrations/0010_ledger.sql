-- Double entry. A custodial account keeps its balance in its own row, so that a check can hold it above zero; the
-- balance of every other account is the sum of its entries, so that no row is touched by every transfer.

create table {{schema}}.ledger_account (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('custodial', 'issuer', 'settlement', 'outside')),
  account_id text not null default '',
  address_id text not null default '',
  value_type text not null,
  transfer_type text not null default '',
  available numeric not null default 0,
  held numeric not null default 0,
  unique (kind, address_id, value_type, transfer_type),
  constraint ledger_account_has_owner check ((kind = 'custodial') = (account_id <> '' and address_id <> '')),
  constraint ledger_account_not_overdrawn check (available >= 0 and held >= 0)
);

create index ledger_account_of_account on {{schema}}.ledger_account (account_id, id) where kind = 'custodial';

create table {{schema}}.ledger_entry (
  -- Id of the transfer or the deposit.
  posting_id text not null,
  step text not null check (step in ('hold', 'post', 'void', 'deposit', 'reverse')),
  line smallint not null,
  ledger_account_id bigint not null,
  bucket text not null check (bucket in ('available', 'held')),
  value_type text not null,
  amount numeric not null check (amount <> 0),
  created_at timestamptz not null default now(),
  primary key (posting_id, step, line)
);

-- A hold ends once: posted or voided, never both.
create unique index ledger_entry_ends_once on {{schema}}.ledger_entry (posting_id)
  where step in ('post', 'void') and line = 1;

create index ledger_entry_of_account on {{schema}}.ledger_entry (ledger_account_id);

create function {{schema}}.ledger_check_balanced() returns trigger language plpgsql as $$
begin
  if exists (
    select from {{schema}}.ledger_entry
     where posting_id = new.posting_id and step = new.step and value_type = new.value_type
    having sum(amount) <> 0
  ) then
    raise exception 'The % of % does not sum to zero in %.', new.step, new.posting_id, new.value_type
      using errcode = 'check_violation', constraint = 'ledger_entry_balanced';
  end if;
  return null;
end
$$;

create constraint trigger ledger_entry_balanced after insert on {{schema}}.ledger_entry
  deferrable initially deferred for each row execute function {{schema}}.ledger_check_balanced();

create function {{schema}}.ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'Ledger entries are never changed; post the reverse instead.' using errcode = 'restrict_violation';
end
$$;

create trigger ledger_entry_immutable before update or delete on {{schema}}.ledger_entry
  for each row execute function {{schema}}.ledger_refuse_change();

-- Posts one step in one round trip. A line is {kind, account, address, value, rail, bucket, amount}; the amount is signed.
-- Answers 'applied', 'repeated' (this step of this posting is there already; nothing changes) or 'insufficient' (a hold
-- that the available balance does not cover; nothing changes). Rows are locked in one order, so postings never deadlock.
create function {{schema}}.ledger_apply(p_posting_id text, p_step text, p_lines jsonb) returns text
language plpgsql as $$
declare
  v_change record;
  v_wanted int := jsonb_array_length(p_lines);
  v_written int;
begin
  if v_wanted = 0 then
    return 'applied';
  end if;
  if exists (select from {{schema}}.ledger_entry where posting_id = p_posting_id and step = p_step) then
    return 'repeated';
  end if;

  for v_change in
    select l.account, l.address, l.value, l.rail,
           coalesce(sum(l.amount) filter (where l.bucket = 'available'), 0) as available,
           coalesce(sum(l.amount) filter (where l.bucket = 'held'), 0) as held
      from jsonb_to_recordset(p_lines)
           as l(kind text, account text, address text, value text, rail text, bucket text, amount numeric)
     where l.kind = 'custodial'
     group by l.account, l.address, l.value, l.rail
     order by l.address, l.value, l.rail
  loop
    update {{schema}}.ledger_account a
       set available = a.available + v_change.available, held = a.held + v_change.held
     where a.kind = 'custodial' and a.address_id = v_change.address and a.value_type = v_change.value
       and a.transfer_type = v_change.rail
       and (p_step <> 'hold' or a.available + v_change.available >= 0);
    if not found then
      if p_step = 'hold' then
        return 'insufficient';
      end if;
      insert into {{schema}}.ledger_account as a
             (kind, account_id, address_id, value_type, transfer_type, available, held)
      values ('custodial', v_change.account, v_change.address, v_change.value, v_change.rail,
              v_change.available, v_change.held)
      on conflict (kind, address_id, value_type, transfer_type) do update
         set available = a.available + excluded.available, held = a.held + excluded.held;
    end if;
  end loop;

  loop
    insert into {{schema}}.ledger_entry (posting_id, step, line, ledger_account_id, bucket, value_type, amount)
    select p_posting_id, p_step, l.line, a.id, l.bucket, l.value, l.amount
      from rows from (
             jsonb_to_recordset(p_lines)
               as (kind text, address text, value text, rail text, bucket text, amount numeric)
           ) with ordinality as l(kind, address, value, rail, bucket, amount, line)
      join {{schema}}.ledger_account a
        on a.kind = l.kind and a.address_id = l.address and a.value_type = l.value and a.transfer_type = l.rail
    on conflict (posting_id, step, line) do nothing;
    get diagnostics v_written = row_count;
    exit when v_written = v_wanted;

    -- A system account is seen for the first time.
    insert into {{schema}}.ledger_account (kind, value_type, transfer_type)
    select distinct l.kind, l.value, l.rail
      from jsonb_to_recordset(p_lines) as l(kind text, value text, rail text)
     where l.kind <> 'custodial'
    on conflict do nothing;
    v_wanted := v_wanted - v_written;
  end loop;
  return 'applied';
end
$$;

-- Every ledger account with its balance; what the custodial rows say must equal what their entries say.
create view {{schema}}.ledger_balance as
  select a.id, a.kind, a.account_id, a.address_id, a.value_type, a.transfer_type, a.available, a.held,
         coalesce(e.available, 0) as entries_available, coalesce(e.held, 0) as entries_held
    from {{schema}}.ledger_account a
    left join (
      select ledger_account_id,
             sum(amount) filter (where bucket = 'available') as available,
             sum(amount) filter (where bucket = 'held') as held
        from {{schema}}.ledger_entry
       group by ledger_account_id
    ) e on e.ledger_account_id = a.id;
