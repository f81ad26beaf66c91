-- Appends what a change of a transfer changes of its batch, whatever statement makes it, also one of earlier code. The trigger calls it for
-- transfers of batches whose status changes or that end, and for no others.
create or replace function {{schema}}.count_batch() returns trigger language plpgsql as $$
begin
  insert into {{schema}}.batch_change (batch_id, pending, processing, failed, canceled, complete, unended)
  values (new.batch_id,
    (new.status = 'pending')::integer - (old.status = 'pending')::integer,
    (new.status = 'processing')::integer - (old.status = 'processing')::integer,
    (new.status = 'failed')::integer - (old.status = 'failed')::integer,
    (new.status = 'canceled')::integer - (old.status = 'canceled')::integer,
    (new.status = 'complete')::integer - (old.status = 'complete')::integer,
    (new.stage <> 'settled')::integer - (old.stage <> 'settled')::integer);
  return null;
end
$$;
