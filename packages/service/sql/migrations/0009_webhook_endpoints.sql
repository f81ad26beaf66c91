-- Webhooks that fail share what is sent to their endpoint: every registration with its URL, and every URL of its host.

alter table {{schema}}.webhook_registration
  -- The URL without its query: what a failure counts against. Cut off, since it is a key of an index.
  add column endpoint text not null generated always as (left(regexp_replace(url, '[?#].*$', ''), 500)) stored,
  add column host text not null generated always as (left(coalesce(substring(url from '^[^:]+://[^/?#]+'), url), 500)) stored,
  -- Whether a delivery has ever succeeded. Other URLs that fail on its host do not hold such a registration.
  add column proven boolean not null default false;

update {{schema}}.webhook_registration r
   set proven = true
 where exists (
   select from {{schema}}.webhook_delivery d where d.registration_id = r.id and d.status = 'delivered'
 );

-- What fails now. A success deletes the row.
create table {{schema}}.webhook_endpoint (
  -- An endpoint or a host.
  key text primary key,
  -- From how many failures in a row on it is held.
  tolerance smallint not null,
  longest_hold_ms integer not null,
  failures integer not null,
  -- How often it was held since.
  holds smallint not null,
  -- True while a probe is under way.
  probing boolean not null default false,
  -- Until then nothing is sent to it. Afterwards one delivery is, as a probe, before all others.
  held_until timestamptz not null
) with (fillfactor = 70);

alter table {{schema}}.webhook_endpoint enable row level security, force row level security;
create policy system on {{schema}}.webhook_endpoint using (current_setting('outlay.system', true) = 'on');
