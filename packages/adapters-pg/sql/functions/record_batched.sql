-- Counts a new transfer of a batch, and no longer the one that it replaces there.
create or replace function {{schema}}.record_batched(p_batch_id text, p_replaces text) returns void language plpgsql as $$
begin
  insert into {{schema}}.batch_change (batch_id, pending, unended) values (p_batch_id, 1, 1);
  if p_replaces is not null then
    insert into {{schema}}.batch_change (batch_id, failed, canceled, resubmitted)
    select t.batch_id, -(t.status = 'failed')::integer, -(t.status = 'canceled')::integer, 1
    from {{schema}}.transfer t where t.id = p_replaces and t.batch_id = p_batch_id;
  end if;
end
$$;
