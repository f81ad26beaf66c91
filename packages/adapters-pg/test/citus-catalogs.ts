/**
 * What is read of Citus's catalogs, with their columns, in a server that has the shards of `group`; nothing of what Citus does. `shard_of` says in which
 * shard of a table an account is. The first server is `east:5432` with group 1, and the second one `west:5433` with group 2.
 */
export const citusCatalogs = (group: 1 | 2): string => `
  create table pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
  create table pg_dist_local_group (groupid integer);
  create table pg_dist_node (nodeid integer, groupid integer, nodename text, nodeport integer, noderole text);
  create table pg_dist_placement (shardid bigint, shardstate integer, groupid integer);
  create table shard_of (relation regclass, account_id text, shardid bigint);
  create function get_shard_id_for_distribution_column(regclass, anyelement) returns bigint language sql
    as 'select s.shardid from shard_of s where s.relation = $1 and s.account_id = $2::text';
  create function shard_name(regclass, bigint) returns text language sql as 'select $1 || ''_'' || $2';
  create function column_to_column_name(regclass, text) returns text language sql as 'select $2';
  insert into pg_dist_local_group values (${group});
  insert into pg_dist_node values (1, 0, 'coordinator', 5432, 'primary'), (2, 1, 'east', 5432, 'primary'), (3, 2, 'west', 5433, 'primary'),
    (4, 2, 'standby', 5433, 'secondary'), (5, 3, 'elsewhere', 5434, 'primary');
  create table invoice (account_id text, id integer);
  create table line (account_id text, id integer);
  create table own (id integer);
  create table pin (key text);
  insert into pg_dist_partition values ('invoice', 'h', 'account_id', 's'), ('line', 'h', 'account_id', 's'), ('pin', 'h', 'key', 's');`

/** Drops what stands in for Citus. */
export const withoutCitus = `drop table if exists pg_dist_partition, pg_dist_local_group, pg_dist_node, pg_dist_placement, shard_of, invoice, line, own, pin;
  drop function if exists get_shard_id_for_distribution_column, shard_name, column_to_column_name;`
