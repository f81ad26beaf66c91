-- True for a transfer that people held, by itself or beside policies, and that nobody released from that. It has the rights of its owner: who enqueues does not
-- read the audit. Its path keeps operators and functions of a caller out.
create or replace function {{schema}}.was_held_by_people(p_id text) returns boolean language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from {{schema}}.audit h
    where h.transfer_id = p_id and h.command = 'transfers.hold' and not exists (
      select from {{schema}}.audit r
      where r.transfer_id = p_id and r.id > h.id and r.command = 'transfers.release' and r.after -> 'released' @> '[{"name": "operator"}]'));
end
$$;
