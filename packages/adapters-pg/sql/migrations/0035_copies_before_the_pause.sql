-- A node that an account comes to is `expecting` while ended transfers are copied before the account is paused, and `arriving` from then on.
-- Functions: move_arrive, move_back, move_expect, move_forget, move_pack, move_pack_others, move_peek, move_receive, move_replace.
alter table {{schema}}.departed_account drop constraint departed_account_state_check;
alter table {{schema}}.departed_account add constraint departed_account_state_check check (
  state in ('leaving', 'packed', 'handed_over', 'returning', 'departed', 'expecting', 'arriving', 'unpacking', 'here'));
comment on column {{schema}}.departed_account.state is
  'leaving, packed and handed_over on the node that an account leaves, expecting, arriving and unpacking on the one that it comes to, returning where a move goes back; then departed, or here.';
