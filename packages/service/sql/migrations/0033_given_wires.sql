-- Ids of wires that a process of an earlier release wrote in their own case, beside the migration that compares them in any. The functions
-- arrival_is_credited and transfer_lost_wire are new, and arrival_mark_claim, arrival_mark_find and transfer_advance_many come with them.
insert into {{schema}}.arrival_mark (rail, kind, mark, transfer_id)
select distinct on (m.rail, upper(m.mark)) m.rail, m.kind, upper(m.mark), m.transfer_id
  from {{schema}}.arrival_mark m
 where m.kind = 'source' and m.mark <> upper(m.mark)
 order by m.rail, upper(m.mark), m.transfer_id
    on conflict do nothing;
delete from {{schema}}.arrival_mark where kind = 'source' and mark <> upper(mark);
