-- How far a worker has made due what waited for a resumed batch, so that it does not read what it has woken once more for each part.
alter table {{schema}}.resumed_batch add column woken_to text collate "C";
comment on column {{schema}}.resumed_batch.woken_to is 'The last transfer that was made due, while there may be later ones; null where a pass begins.';
