-- Adds up the counts of shorter spans into a longer one, which had none.
create or replace function {{schema}}.merge_counts(p_span text, p_into text, p_from timestamptz, p_to timestamptz) returns void language plpgsql
set enable_seqscan = off set enable_mergejoin = off set jit = off as $$
begin
  delete from {{schema}}.transfer_count c where c.span = p_into and c.began_at = p_from;
  insert into {{schema}}.transfer_count
  with shorter as materialized (
    select c.* from {{schema}}.transfer_count c where c.span = p_span and c.began_at >= p_from and c.began_at < p_to
  ), times as (
    select s.account_id, s.gateway, s.currency, m.measure, b.key, sum(b.value::bigint) as n
    from shorter s cross join lateral (values ('accepted', s.accepted_in), ('ended', s.ended_in)) m (measure, buckets)
    cross join lateral jsonb_each_text(m.buckets) b group by 1, 2, 3, 4, 5
  ), buckets as (
    select t.account_id, t.gateway, t.currency, coalesce(jsonb_object_agg(t.key, t.n) filter (where t.measure = 'accepted'), '{}') as accepted_in,
      coalesce(jsonb_object_agg(t.key, t.n) filter (where t.measure = 'ended'), '{}') as ended_in
    from times t group by 1, 2, 3
  ), sums as (
    select s.account_id, s.gateway, s.currency, sum(s.enqueued) as enqueued, sum(s.completed) as completed, sum(s.failed) as failed,
      sum(s.canceled) as canceled, sum(s.blocked) as blocked, sum(s.enqueued_value) as enqueued_value, sum(s.completed_value) as completed_value
    from shorter s group by 1, 2, 3
  )
  select p_into, p_from, s.account_id, s.gateway, s.currency, s.enqueued, s.completed, s.failed, s.canceled, s.blocked, s.enqueued_value, s.completed_value,
    coalesce(b.accepted_in, '{}'), coalesce(b.ended_in, '{}')
  from sums s left join buckets b on b.account_id = s.account_id and b.gateway = s.gateway and b.currency = s.currency;
end
$$;
