create or replace view {{schema}}.batches as
select b.id, b.account_id, b.key, b.metadata,
  case when b.completed_at is not null then 'completed' when c.closed_at is not null then 'closed' else 'open' end as state,
  exists (select from {{schema}}.paused_batch p where p.batch_id = b.id) as paused,
  coalesce(n.pending, 0) + coalesce(x.pending, 0) as pending, coalesce(n.processing, 0) + coalesce(x.processing, 0) as processing,
  coalesce(n.failed, 0) + coalesce(x.failed, 0) as failed, coalesce(n.canceled, 0) + coalesce(x.canceled, 0) as canceled,
  coalesce(n.complete, 0) + coalesce(x.complete, 0) as complete, coalesce(n.unended, 0) + coalesce(x.unended, 0) as unended,
  coalesce(n.resubmitted, 0) + coalesce(x.resubmitted, 0) as resubmitted, b.created_at, c.closed_at, b.completed_at
from {{schema}}.batch b
left join {{schema}}.closed_batch c on c.batch_id = b.id
left join {{schema}}.batch_count n on n.batch_id = b.id
cross join lateral (
  select sum(x.pending) as pending, sum(x.processing) as processing, sum(x.failed) as failed, sum(x.canceled) as canceled,
    sum(x.complete) as complete, sum(x.unended) as unended, sum(x.resubmitted) as resubmitted
  from {{schema}}.batch_change x where x.batch_id = b.id) x;
comment on view {{schema}}.batches is 'Batches and how many transfers of each there are, exact at each moment.';
comment on column {{schema}}.batches.unended is 'Transfers that have not ended. A closed batch completes when there are none.';
comment on column {{schema}}.batches.resubmitted is 'Ended transfers that others of the batch stand for; in no other count.';
