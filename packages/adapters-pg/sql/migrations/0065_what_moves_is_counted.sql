-- What limits on sums have counted of an account that moves leaves a node with the hand-over, and is on the other one before its transfers. Functions: move_part_doubles is
-- new; hold_lookalikes, logged_owners, move_back, move_charges, move_hand_over, move_pack, move_pack_end, move_unpack and move_unpack_transfers have changed.
-- A slice that earlier code packs or unpacks is finished first: each holds a row of this table. From then on earlier code packs, unpacks and hands over nothing: the functions that
-- it calls come back with those of this release.
lock table {{schema}}.departed_account in exclusive mode;
do $$
begin
  if to_regprocedure('{{schema}}.move_charges(text[], integer)') is not null then
    drop function {{schema}}.move_charges(text[], integer), {{schema}}.move_hand_over(text, bigint);
  end if;
end
$$;
-- Of moves that have not ended it was taken away when it was packed.
insert into {{schema}}.limit_use as u (counter, scope, began_at, until, used)
select c.counter, c.scope, c.began_at, min(c.until), sum(c.amount)
from {{schema}}.departed_account d join {{schema}}.moved_row m on m.account_id = d.account_id and m.kind = 'limit_charge'
cross join lateral jsonb_populate_recordset(null::{{schema}}.limit_charge, m.content) c
where d.state in ('leaving', 'packed', 'returning')
group by 1, 2, 3 order by 1, 2, 3 on conflict (counter, scope, began_at) do update set used = u.used + excluded.used;
