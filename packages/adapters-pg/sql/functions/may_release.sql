-- True of a transfer that limits on sums hold, that fits into all that hold it, and that a worker could send now: what was released counts, so one of a paused
-- or stopped account, gateway or batch would keep others from what it uses. So would one of an account whose credentials were refused, but for one that probes them.
create or replace function {{schema}}.may_release(p_id text) returns boolean language sql stable as $$
  select exists (
    select from {{schema}}.transfer t
    where t.id = p_id and t.stage = 'held'
      and not exists (select from {{schema}}.account f where f.account_id = t.account_id and f.paused)
      and not exists (select from {{schema}}.stop s where s.scope = 'account' and s.name = t.account_id)
      and not exists (select from {{schema}}.stop s where s.scope = 'gateway' and s.name = t.gateway)
      and not exists (select from {{schema}}.paused_batch b where b.batch_id = t.batch_id)
      and not (
        exists (select from {{schema}}.unauthorized_account r where r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))
        and exists (
          select from {{schema}}.transfer w
          where w.account_id = t.account_id and w.gateway = t.gateway and w.reason = 'unauthenticated' and w.stage in ('queued', 'submitting')))
      and not exists (
        select from {{schema}}.hold h
        where h.transfer_id = t.id and h.counter is not null and h.amount > {{schema}}.limit_left(h.counter, h.scope)))
$$;
