-- When the service had last changed a transfer by the newest report of what came back of it, as the service's clock reads. Only transfers with
-- returns have a row. An older report, such as a webhook that comes late or again, neither withdraws nor adds a return.
create table {{schema}}.return_report (
  transfer_id text collate "C" primary key,
  changed_at  timestamptz not null
);
comment on table {{schema}}.return_report is 'The newest report of what came back of a transfer: when the service had last changed it.';

-- A window stays for some hours behind its last reading: the clock may have been ahead. One that the service does not know is asked for again.
alter table {{schema}}.return_window add column closed_at timestamptz, add column missing_at timestamptz;
comment on column {{schema}}.return_window.closed_at is 'When the last reading of it was applied; null while its money may come back.';
comment on column {{schema}}.return_window.missing_at is 'When the service first did not know it; null while it does.';
