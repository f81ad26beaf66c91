-- Finds acceptances by a gateway that their transfers were taken from: it had said that nothing moved and never would, or a fail-over of the
-- database has lost what it was sent. Where the other gateway was not asked yet, the transfer goes back, and has that id. Otherwise both
-- may pay it: it is blocked, and the log has the id. The caller has locked the transfers.
create or replace function {{schema}}.recall_rerouted(p_settlements jsonb) returns jsonb language plpgsql as $$
declare
  v_late record;
begin
  for v_late in
    select s.place, s.id, s.sent_to, s.remote_id, t.gateway, s.detail
    from rows from (jsonb_to_recordset(p_settlements) as (id text, remote_id text, sent_to text, detail text)) with ordinality
      as s (id, remote_id, sent_to, detail, place)
    cross join lateral (
      select t.* from {{schema}}.transfer t
      where t.id = s.id and t.remote_id is null and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked') offset 0) t
    where s.remote_id is not null and s.sent_to <> t.gateway
    order by s.place
  loop
    if not exists (
      select 1 from {{schema}}.attempt a where a.transfer_id = v_late.id and a.gateway is distinct from v_late.sent_to) then
      update {{schema}}.transfer t set gateway = v_late.sent_to where t.id = v_late.id;
      delete from {{schema}}.reroute r where r.transfer_id = v_late.id and r.from_gateway = v_late.sent_to;
    else
      perform {{schema}}.block_rerouted(v_late.id);
      p_settlements := jsonb_set(p_settlements, array[(v_late.place - 1)::text], (p_settlements -> (v_late.place - 1)::integer)
        || jsonb_build_object('stage', 'blocked', 'status', 'pending', 'failure', null, 'remote_id', null, 'taken_id', v_late.remote_id,
          'reason', 'rerouted_in_doubt', 'reached_at', null, 'retry_ms', null, 'poll_after_ms', null, 'events', '[]'::jsonb,
          'detail', concat_ws('; ', v_late.detail, 'accepted as ' || v_late.remote_id || ' by the gateway ' || v_late.sent_to
            || ', which had refused it before; ' || v_late.gateway || ' has been asked since')));
    end if;
  end loop;
  return p_settlements;
end
$$;
