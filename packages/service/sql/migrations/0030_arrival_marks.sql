-- Whose money an incoming wire is, by what names it at its bank: one wire is that of one transfer. The functions rail_fact_claim and rail_fact_finish are
-- new, and is_of_transfer, rail_fact_last_retried and arrival_mark_claim come with them.
create table {{schema}}.arrival_mark (
  rail text not null,
  -- `source`: the rail's id of the movement of money. `imad`: without white space, in upper case.
  kind text not null check (kind in ('source', 'imad')),
  mark text not null,
  transfer_id text not null,
  primary key (rail, kind, mark)
);

-- Wires are those of several tenants, so they are nobody's but the system's.
alter table {{schema}}.arrival_mark enable row level security, force row level security;
create policy system on {{schema}}.arrival_mark using (current_setting('outlay.system', true) = 'on');

-- What has arrived before: what was applied, what is held, and deposits at virtual accounts. A wire is that of the first report.
insert into {{schema}}.arrival_mark (rail, kind, mark, transfer_id)
select distinct on (m.rail, m.kind, m.mark) m.rail, m.kind, m.mark, m.transfer_id
  from (
    select f.id, t.source_transfer_type as rail, f.transfer_id, n.kind, n.mark
      from {{schema}}.rail_fact f
      join {{schema}}.transfer t on t.id = f.transfer_id and t.wire_instructions is not null
     cross join lateral (
       values ('source', f.payload #>> '{source,transactionId}'),
              ('imad', upper(regexp_replace(f.payload #>> '{source,paymentDetails,imad}', '\s', '', 'g')))
     ) as n(kind, mark)
     where f.kind in ('accepted', 'settled') and (
       f.applied_at is not null or f.resolved_at is null
         and exists (select from {{schema}}.ledger_entry e where e.posting_id = f.id and e.step = 'deposit')
         and not exists (select from {{schema}}.ledger_entry e where e.posting_id = f.id and e.step = 'reverse')
     )
    union all
    select f.id, f.rail, f.transfer_id, n.kind, n.mark
      from {{schema}}.rail_fact f
     cross join lateral (
       values ('source', f.reference),
              ('imad', upper(regexp_replace(f.reference, '\s', '', 'g'))),
              ('imad', upper(regexp_replace(f.payload #>> '{details,imad}', '\s', '', 'g')))
     ) as n(kind, mark)
     where f.kind = 'deposit' and f.rail = 'wire' and f.applied_at is not null and f.transfer_id is not null
  ) m
 where length(m.mark) <= 255
   and m.mark !~* '^(n/?a|not available|none|null|nil|unknown|undefined|pending|tbd|([^[:alnum:]]|0)*)$'
 order by m.rail, m.kind, m.mark, m.id
    on conflict do nothing;
