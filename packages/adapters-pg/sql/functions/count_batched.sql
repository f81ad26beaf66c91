-- Appends what one statement has changed of batches, one row for each batch: `<batch> <status> <stage> <status> <stage>` of each transfer, those before and
-- those behind. The statement ran where the setting outlay_batches.counts is `written`, so that the trigger has not counted them.
create or replace function {{schema}}.count_batched(p_changes text[]) returns void language plpgsql as $$
begin
  insert into {{schema}}.batch_change (batch_id, pending, processing, failed, canceled, complete, unended)
  select n.batch_id,
    sum(n.count * ((n.status = 'pending')::integer - (n.old_status = 'pending')::integer)),
    sum(n.count * ((n.status = 'processing')::integer - (n.old_status = 'processing')::integer)),
    sum(n.count * ((n.status = 'failed')::integer - (n.old_status = 'failed')::integer)),
    sum(n.count * ((n.status = 'canceled')::integer - (n.old_status = 'canceled')::integer)),
    sum(n.count * ((n.status = 'complete')::integer - (n.old_status = 'complete')::integer)),
    sum(n.count * ((n.stage <> 'settled')::integer - (n.old_stage <> 'settled')::integer))
  from (
    select split_part(g.change, ' ', 1) as batch_id, split_part(g.change, ' ', 2) as old_status, split_part(g.change, ' ', 3) as old_stage,
      split_part(g.change, ' ', 4) as status, split_part(g.change, ' ', 5) as stage, g.count
    from (select c.change, count(*) as count from unnest(p_changes) as c (change) group by c.change) g offset 0) n
  where n.status <> n.old_status or (n.stage = 'settled') <> (n.old_stage = 'settled')
  group by n.batch_id;
end
$$;
