-- A wire is that of one transfer, and a deposit is one, in whatever case they are named. Deposits wait while the index is built, which fails where two took
-- effect whose references differ in their case alone: find out whether they were one payment, and give one of the two another reference. The function
-- transfer_is_settled is new, and arrival_mark_claim, arrival_mark_find and rail_fact_last_retried come with it.
create unique index if not exists automation_deposit_in_any_case on {{schema}}.automation_deposit (transfer_type, lower(reference));

insert into {{schema}}.arrival_mark (rail, kind, mark, transfer_id)
select distinct on (m.rail, upper(m.mark)) m.rail, m.kind, upper(m.mark), m.transfer_id
  from {{schema}}.arrival_mark m
 where m.kind = 'source' and m.mark <> upper(m.mark)
 order by m.rail, upper(m.mark), m.transfer_id
    on conflict do nothing;
delete from {{schema}}.arrival_mark where kind = 'source' and mark <> upper(mark);

-- What a person has credited to a second one is no more that of the first. It reads wires alone, by indexes.
update {{schema}}.arrival_mark a set transfer_id = g.transfer_id
  from (
    select distinct on (w.rail, n.kind, n.mark) w.rail, n.kind, n.mark, w.transfer_id, w.payload ->> 'markOwner' as owner
      from (
        select t.source_transfer_type as rail, f.transfer_id, f.resolved_at, f.payload, null as reference, f.payload #>> '{source,transactionId}' as source,
               f.payload #>> '{source,paymentDetails,imad}' as imad
          from {{schema}}.transfer t
          join {{schema}}.rail_fact f on f.transfer_id = t.id
         where t.wire_instructions is not null and f.kind in ('accepted', 'settled') and f.resolution = 'applied'
        union all
        select d.transfer_type, f.transfer_id, f.resolved_at, f.payload, f.reference, f.reference, f.payload #>> '{details,imad}'
          from {{schema}}.automation_deposit d
          join {{schema}}.rail_fact f on f.transfer_id = d.transfer_id
         where d.transfer_type = 'wire' and f.kind = 'deposit' and f.resolution = 'applied'
      ) w
     cross join lateral (
       values ('source', upper(regexp_replace(w.source, '^\s+|\s+$', '', 'g'))),
              ('imad', upper(regexp_replace(w.reference, '\s', '', 'g'))),
              ('imad', upper(regexp_replace(w.imad, '\s', '', 'g')))
     ) as n(kind, mark)
     where w.payload ? 'markOwner'
     order by w.rail, n.kind, n.mark, w.resolved_at desc
  ) g
 where a.rail = g.rail and a.kind = g.kind and a.mark = g.mark and a.transfer_id = g.owner;
