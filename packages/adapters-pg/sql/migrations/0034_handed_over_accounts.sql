-- The nodes themselves decide which of them may have an account that moves: the one that it leaves has `handed_over` before the other one is `unpacking`.
-- Functions: move_back, move_depart, move_expect, move_hand_over, move_left, move_open, move_pack, move_pack_end, move_pack_rest, move_charges, is_moving.
alter table {{schema}}.departed_account drop constraint departed_account_state_check;
alter table {{schema}}.departed_account add constraint departed_account_state_check check (
  state in ('leaving', 'packed', 'handed_over', 'returning', 'departed', 'arriving', 'unpacking', 'here'));
comment on column {{schema}}.departed_account.state is
  'leaving, packed and handed_over on the node that an account leaves, arriving and unpacking on the one that it comes to, returning where a move goes back; then departed, or here.';
-- Its result has another type, and the table that something is left in.
drop function if exists {{schema}}.move_pack_end(text, bigint);
