-- Counterparties that transfers give whole: their details until the service knows them, and who is known by which id.

-- Details of a counterparty, per transfer that pays it. The row is deleted when the transfer has the id of its address.
create table {{schema}}.counterparty_details (
  transfer_id   text collate "C" primary key,
  account_id    text not null,
  fingerprint   text not null,
  details       jsonb not null,
  -- Since when it is not known whether the service has registered it.
  unknown_since timestamptz
);

-- One row per counterparty of an account: the key that registers it at the service, and its address there once that is known.
create table {{schema}}.counterparty (
  account_id      text not null,
  fingerprint     text not null,
  idempotency_key text not null,
  address_id      text,
  created_at      timestamptz not null default clock_timestamp(),
  primary key (account_id, fingerprint)
);

-- What an attempt did: null for the transfer itself, 'registration' for its counterparty, which moves no money.
alter table {{schema}}.attempt add column step text;

create or replace function {{schema}}.attempts_of(p_transfer_id text)
returns table (
  attempt integer, claimed_at timestamptz, answered_at timestamptz, took interval, outcome text, http_status integer,
  request_id text, detail text, worker text
) language sql stable as $$
  select a.attempt, a.claimed_at, a.answered_at, a.answered_at - a.claimed_at,
    concat_ws(' ', a.step, coalesce(a.outcome, 'unanswered')), a.http_status, a.request_id, a.detail, a.worker
  from {{schema}}.attempt a where a.transfer_id = p_transfer_id order by a.attempt
$$;
comment on function {{schema}}.attempts_of(text) is
  'The attempts of one transfer, all with the same idempotency key, after those that register its counterparty with a key of their own. The outcome of an unanswered one is not known.';

create or replace function {{schema}}.timeline_of(p_transfer_id text)
returns table (at timestamptz, what text, detail text) language sql stable as $$
  select l.at, l.what, l.detail from (
    select a.claimed_at as at, 1 as rank, concat_ws(' ', 'attempt', a.attempt, a.step) as what, 'taken by ' || a.worker as detail
    from {{schema}}.attempt a where a.transfer_id = p_transfer_id
    union all
    select a.answered_at, 2, concat_ws(' ', 'attempt', a.attempt, a.step, a.outcome),
      concat_ws(', ', 'HTTP ' || a.http_status, 'request ' || a.request_id, a.detail)
    from {{schema}}.attempt a where a.transfer_id = p_transfer_id and a.answered_at is not null
    union all
    select e.occurred_at, 3, e.type, concat_ws(', ', e.stage, e.status, e.reason, e.failure ->> 'code', e.failure ->> 'detail')
    from {{schema}}.event e where e.transfer_id = p_transfer_id
  ) l order by l.at, l.rank
$$;
