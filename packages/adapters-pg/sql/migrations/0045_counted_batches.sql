-- Functions that change many transfers count those of batches themselves, one change for each batch, and say so while they do; the trigger counts for
-- every other statement. Functions: apply_changes, write_settlements, and the new count_batched and enqueue_one_batched.
create or replace trigger transfer_batch_counts after update of stage, status on {{schema}}.transfer for each row
  when (new.batch_id is not null and (old.status is distinct from new.status or (old.stage = 'settled') is distinct from (new.stage = 'settled'))
    and current_setting('outlay_batches.counts', true) is distinct from 'written')
  execute function {{schema}}.count_batch();
