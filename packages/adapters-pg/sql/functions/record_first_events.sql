-- Writes the first events of enqueued transfers, and their deliveries. Without a subscription that wants them, they are not stored: the row of
-- the transfer says the same, and events_of() reads it there.
create or replace function {{schema}}.record_first_events(p_ids text[], p_at timestamptz) returns void language plpgsql as $$
begin
  insert into {{schema}}.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  select n.id, 1, 'transfer.enqueued', 'queued', 'pending', 0, p_at from unnest(p_ids) as n (id);
  insert into {{schema}}.delivery (subscription, transfer_id, sequence, type, account_id)
  select s.name, t.id, 1, 'transfer.enqueued', t.account_id
  from {{schema}}.subscription s, unnest(p_ids) as n (id) join {{schema}}.transfer t on t.id = n.id
  where s.types @> array['transfer.enqueued'];
end
$$;
