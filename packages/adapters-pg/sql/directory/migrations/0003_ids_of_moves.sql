-- Ids of moves come from the clock: a directory that was restored gives none twice. Nodes compare them, and refuse earlier ones.
alter table {{schema}}.account_move alter column id drop identity if exists;
alter table {{schema}}.account_move alter column id set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;
