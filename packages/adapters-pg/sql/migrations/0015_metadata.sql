-- What hosts note beside their transfers. A transfer without metadata has no row here and no entry in an index.
create table {{schema}}.transfer_metadata (
  transfer_id text collate "C" not null,
  name        text collate "C" not null,
  value       text collate "C" not null,
  primary key (transfer_id, name)
);
create index transfer_metadata_pair on {{schema}}.transfer_metadata (name, value, transfer_id);
comment on table {{schema}}.transfer_metadata is 'What hosts note beside their transfers: one row for each pair.';
