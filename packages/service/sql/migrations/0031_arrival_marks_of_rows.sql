-- Whose wires there were beside what the migration before this one knew from applied and held facts: transfers and deposits of before facts were stored,
-- deposits that went back, which have no transfer and are named by their own ids, and reports that were neither applied nor are held, as those that a person
-- has dismissed. It reads wires alone, by indexes of theirs. The function arrival_mark_find is new, and arrival_mark_claim comes with it.
insert into {{schema}}.arrival_mark as a (rail, kind, mark, transfer_id)
select distinct on (m.rail, m.kind, m.mark) m.rail, m.kind, m.mark, m.owner
  from (
    -- A wire is that of the first one which it funded, and else of the first one for which it was reported.
    select w.rail, w.owner, w.at, w.is_reported, n.kind, n.mark
      from (
        select t.source_transfer_type as rail, t.id as owner, t.id as at, false as is_reported, t.source_transaction_id as source, null as reference,
               t.source_payment_details ->> 'imad' as imad
          from {{schema}}.transfer t
         where t.wire_instructions is not null
        union all
        select d.transfer_type, t.id, d.id, false, t.source_transaction_id, t.source_transaction_id, t.source_payment_details ->> 'imad'
          from {{schema}}.automation_deposit d
          join {{schema}}.transfer t on t.id = d.transfer_id
         where d.transfer_type = 'wire'
        union all
        select d.transfer_type, d.id, d.id, false, d.reference, d.reference, f.payload #>> '{details,imad}'
          from {{schema}}.automation_deposit d
          left join {{schema}}.rail_fact f
            on f.rail = d.transfer_type and lower(f.reference) = lower(d.reference) and f.kind = 'deposit' and f.exception_reason is null
         where d.transfer_type = 'wire' and d.return_reason is not null
        union all
        select t.source_transfer_type, t.id, f.id, true, f.payload #>> '{source,transactionId}', null, f.payload #>> '{source,paymentDetails,imad}'
          from {{schema}}.transfer t
          join {{schema}}.rail_fact f on f.transfer_id = t.id and f.account_id = t.account_id
         where t.wire_instructions is not null and f.kind in ('accepted', 'settled')
           and (f.applied_at is not null or f.exception_reason not in (
             'unknown_transfer', 'unknown_automation', 'other_account', 'other_reference', 'other_virtual_account', 'reused_mark'
           ))
      ) w
     cross join lateral (
       values ('source', regexp_replace(w.source, '^\s+|\s+$', '', 'g')),
              ('imad', upper(regexp_replace(w.reference, '\s', '', 'g'))),
              ('imad', upper(regexp_replace(w.imad, '\s', '', 'g')))
     ) as n(kind, mark)
  ) m
 where length(m.mark) <= 255
   and m.mark !~* '^(n/?a|not available|none|null|nil|unknown|undefined|pending|tbd|([^[:alnum:]]|0)*)$'
 order by m.rail, m.kind, m.mark, m.is_reported, m.at
    -- A deposit that went back had an id that no transfer has.
    on conflict (rail, kind, mark) do update set transfer_id = excluded.transfer_id
 where not exists (select from {{schema}}.transfer t where t.id = a.transfer_id);
