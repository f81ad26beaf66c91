-- Transfers that wait to be sent, in the order in which they are.

-- One row per transfer that waits: for its turn, its time, its next attempt, or the end of a hold. A host writes it with its transfer;
-- a claim deletes it. Its id is that of its transfer, and of its job in the queue while it is under way.
create table {{schema}}.outbox (
  id         uuid primary key,
  account_id text collate "C" not null,
  due_at     timestamptz not null,
  -- False until a fetch finds it due. Accounts without a row that is ready are never read in the search for the next.
  ready      boolean not null,
  -- How often a worker has had it.
  fetches    integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

create index outbox_ready on {{schema}}.outbox (account_id, id) where ready;
create index outbox_deferred on {{schema}}.outbox (due_at) where not ready;

-- Functions and tables of the order by virtual time.
drop function if exists {{schema}}.advance_clock(bigint);
drop function if exists {{schema}}.enqueue_many(text[], uuid[], text[], text[], text[], text[], integer[], integer[], boolean, text[], text[], text);
drop function if exists {{schema}}.enqueue_one(text, uuid, text, text, text, jsonb, integer, boolean, timestamptz, timestamptz, text);
drop function if exists {{schema}}.fetch_and_claim(integer, text, text);
drop function if exists {{schema}}.queue_fetch(integer);
drop function if exists {{schema}}.queue_put_many(uuid[], integer[], timestamptz[]);
drop function if exists {{schema}}.queue_put_one(uuid, integer, timestamptz);
drop function if exists {{schema}}.queue_rewind(integer);
drop function if exists {{schema}}.record_enqueued(text[], text[], uuid[], integer[], integer[], text[], timestamptz);
drop function if exists {{schema}}.rewind_clock(bigint, integer);
drop view if exists {{schema}}.stuck_transfers;
drop view if exists {{schema}}.transfers;
drop function if exists {{schema}}.queue_jobs();
drop table {{schema}}.dispatch_clock;
