-- The archive: the history of transfers that ended long ago, many to a row, so that it compresses well.
-- A transfer itself stays where it is, and with it its key: what was enqueued once is refused or found again for ever.

create table {{schema}}.archive (
  page        bigint generated always as identity primary key,
  transfers   integer not null,
  archived_at timestamptz not null default clock_timestamp(),
  -- By transfer id: {"events": […], "attempts": […]}, each with the columns that its row had.
  history     jsonb not null
);

-- No index has it, so an update of it alone changes none.
alter table {{schema}}.transfer add column archive_page bigint;
