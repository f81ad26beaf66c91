-- Adds committed entries of the audit to its chain, as many as `p_limit`, and returns how many. What a statement sees had committed before what a later one
-- sees, so the order is that of the commits, and within one call that of the transactions and of what each wrote. It has the rights of its owner: nobody else
-- writes the chain. Whoever comes second has nothing to do, and waits for nothing. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.chain_audit(p_limit integer) returns integer language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_position bigint;
  v_hash text;
  v_from xid8;
  v_settled xid8;
  v_ids bigint[];
  v_id bigint;
begin
  -- Whoever only reads, or reads a replica, compares what is in the chain.
  if current_setting('transaction_read_only')::boolean then
    return 0;
  end if;
  -- Without a lock, so that nothing is written where there is nothing to do.
  if not exists (
    select from {{schema}}.audit a left join {{schema}}.audit_chain_end e on true
    where (e.settled_before is null or a.transaction >= e.settled_before or e.settled_before > pg_snapshot_xmax(pg_current_snapshot()))
      and not exists (select from {{schema}}.audit_chain c where c.audit_id = a.id)) then
    return 0;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('outlay audit chain {{schema}}', 0)) then
    return 0;
  end if;
  insert into {{schema}}.audit_chain_end (position, hash, settled_before) select 0, '', '0'
  where not exists (select from {{schema}}.audit_chain_end) and not exists (select from {{schema}}.audit_chain);
  select e.position, e.hash, e.settled_before into v_position, v_hash, v_from from {{schema}}.audit_chain_end e;
  -- Somebody has removed the end; a comparison says so.
  if not found then
    return 0;
  end if;
  -- Restored into another server, whose transactions are counted anew.
  if v_from > pg_snapshot_xmax(pg_current_snapshot()) then
    v_from := '0';
  end if;
  with fresh as (
    select a.id, a.transaction from {{schema}}.audit a
    where a.transaction >= v_from and not exists (select from {{schema}}.audit_chain c where c.audit_id = a.id)
    order by a.transaction, a.id limit p_limit
  )
  select coalesce(array_agg(f.id order by f.transaction, f.id), '{}'), pg_snapshot_xmin(pg_current_snapshot()) into v_ids, v_settled from fresh f;
  foreach v_id in array v_ids loop
    v_position := v_position + 1;
    select encode(sha256(convert_to(concat(v_hash, chr(10), {{schema}}.audit_text(a)), 'UTF8')), 'hex') into v_hash from {{schema}}.audit a where a.id = v_id;
    insert into {{schema}}.audit_chain (position, audit_id, hash) values (v_position, v_id, v_hash);
  end loop;
  -- Not where there may be more of what this statement saw.
  if cardinality(v_ids) < p_limit then
    v_from := v_settled;
  end if;
  if cardinality(v_ids) > 0 then
    update {{schema}}.audit_chain_end e set position = v_position, hash = v_hash, settled_before = v_from;
  end if;
  return cardinality(v_ids);
end
$$;
