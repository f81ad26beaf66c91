-- Puts rows of one table of what an account has besides its transfers into that table. Settings that somebody made here meanwhile give way to those that
-- the account brings. The caller has checked the state of the account.
create or replace function {{schema}}.move_unpack_rest(p_account_id text, p_kind text, p_keys text[]) returns void language plpgsql as $$
begin
  if p_kind in ('account', 'account_client', 'account_throttle', 'return_reading', 'unauthorized_account', 'watched_account') then
    execute format(
      'delete from {{schema}}.%1$I x where x.account_id in (
        select m.content -> 0 ->> ''account_id'' from {{schema}}.moved_row m where m.account_id = $1 and m.kind = %1$L and m.key = any ($2))', p_kind)
    using p_account_id, p_keys;
  end if;
  execute format(
    'with gone as (
      delete from {{schema}}.moved_row m where m.account_id = $1 and m.kind = %1$L and m.key = any ($2) returning m.content)
    insert into {{schema}}.%1$I
    select r.* from gone g cross join lateral jsonb_populate_recordset(null::{{schema}}.%1$I, g.content) r on conflict do nothing', p_kind)
  using p_account_id, p_keys;
end
$$;
