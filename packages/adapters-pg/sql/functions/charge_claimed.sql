-- Counts transfers as charge_limits() does that have passed enforce_limits(), holds those that look like another one, and gives their accounts back the permits of
-- those that do not go after all: they are held, or wait for what others have locked. The caller has locked the throttles since then.
create or replace function {{schema}}.charge_claimed(p_ids text[], p_jobs uuid[], p_without text[]) returns text[] language plpgsql as $$
declare
  v_is_limited boolean;
  v_is_watched boolean;
  v_held text[] := '{}';
  v_alike_busy text[] := '{}';
  v_busy text[];
begin
  select exists (select from {{schema}}.sum_limit), exists (select from {{schema}}.payment_watch) into v_is_limited, v_is_watched;
  if v_is_watched then
    select h.held, h.busy into v_held, v_alike_busy from {{schema}}.hold_lookalikes(p_ids, p_jobs, p_without) h;
  end if;
  v_busy := v_alike_busy || {{schema}}.charge_limits(p_ids, p_jobs, p_without || v_held || v_alike_busy);
  if (v_is_limited or v_is_watched) and exists (select from {{schema}}.account_throttle) then
    update {{schema}}.account_throttle p
    set next_at = p.next_at - make_interval(secs => n.count / least(p.rate, n.rate_per_second))
    from (
      select {{schema}}.gateway_account(t.gateway, t.account_id) as account_id, f.rate_per_second, count(*) as count
      from {{schema}}.transfer t left join {{schema}}.account f on f.account_id = t.account_id
      where t.id = any (p_ids) and t.id <> all (p_without) and (t.stage = 'held' or t.id = any (v_busy)) group by 1, 2
    ) n
    where p.account_id = n.account_id and least(p.rate, n.rate_per_second) is not null;
  end if;
  if v_is_watched then
    perform {{schema}}.end_watches(array(
      select t.id from {{schema}}.transfer t where t.id = any (p_ids) and t.id <> all (p_without || v_busy) and t.stage <> 'held'));
  end if;
  return v_busy;
end
$$;
