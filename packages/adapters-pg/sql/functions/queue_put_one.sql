-- Lets a new transfer wait to be sent, from a time on.
create or replace function {{schema}}.queue_put_one(p_job uuid, p_account_id text, p_due_at timestamptz, p_at timestamptz)
returns void language plpgsql as $$
begin
  insert into {{schema}}.outbox (id, account_id, due_at, ready) values (p_job, p_account_id, p_due_at, p_due_at <= p_at);
end
$$;
