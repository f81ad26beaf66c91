-- What moves is woken where it arrives, is counted there by its payee, and is said to move. Functions: is_moving, may_stop, move_charges, move_pack_end, move_pack_rest, move_unpack_transfers, wake_resumed_batches.
-- The name of an argument changes, which a replacement cannot do.
drop function if exists {{schema}}.is_moving(text);
create index moved_row_batch on {{schema}}.moved_row (key) where kind = 'batch';
