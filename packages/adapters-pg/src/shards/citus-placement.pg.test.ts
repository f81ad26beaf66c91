import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { refusal } from '../../test/shard-host.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { explainMisplacement, findMisplaced } from './citus-placement.ts'
import { shards } from './shards.ts'

/** The catalogs of Citus that the check reads, with their columns; nothing of what Citus does. */
const catalogs = `
  create table pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
  create table pg_dist_local_group (groupid integer);
  create table pg_dist_node (nodeid integer, groupid integer, nodename text, nodeport integer, noderole text);
  create table pg_dist_placement (placementid bigint, shardid bigint, groupid integer);
  create table shard_of (account_id text, shardid bigint);
  create function get_shard_id_for_distribution_column(regclass, anyelement) returns bigint language sql
    as 'select s.shardid from shard_of s where s.account_id = $2::text';
  insert into pg_dist_local_group values (1);
  insert into pg_dist_node values (1, 0, 'coordinator', 5432, 'primary'), (2, 1, 'here', 5432, 'primary'), (3, 2, 'there', 5433, 'primary');
  insert into pg_dist_placement values (1, 100, 1), (2, 200, 2);
  insert into shard_of values ('here-1', 100), ('there-1', 200), ('there-2', 200);
  create table invoice (account_id text, id integer);
  create table currency (code text);
  create table own (id integer);
  insert into pg_dist_partition values ('invoice', 'h', 's'), ('currency', 'n', 't');`

describe('in a database that has what the check reads of Citus', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 8 })
  afterAll(() => pool.end())
  const driver = pgDriver(pool)
  // Every statement of a migration that makes something notes what Citus would read.
  await pool.query(`create table seen (propagates text);
    create function note_ddl() returns event_trigger language plpgsql as $$
      begin insert into public.seen values (current_setting('citus.enable_ddl_propagation', true)); end $$;
    create event trigger note_ddl on ddl_command_end execute function note_ddl()`)
  await postgres({ driver }).migrate()
  const noted = await pool.query('select propagates, count(*)::integer as count from seen group by 1')
  const script = new pg.Client(database.url)
  await script.connect()
  await script.query('truncate seen')
  await script.query(postgres({ driver, schema: 'scripted' }).migrationSql())
  const scripted = await script.query('select distinct propagates from seen')
  const { rows: afterScript } = await script.query(
    `select current_setting('citus.enable_ddl_propagation', true) as set`,
  )
  await script.end()
  await pool.query('drop event trigger note_ddl')
  const open = (colocated: readonly string[]) =>
    shards({ nodes: { only: { driver } }, route: () => 'only', engine: { gateway: memoryGateway() }, colocated })
  const enqueue = async (accountId: string) => {
    const one = open([])
    await one.migrate()
    await one.transaction(accountId, (tx) => one.transfers.enqueue(tx, samplePayout(accountId)))
  }

  it('a migration keeps all that it makes on its own node, and leaves the session as it was', async () => {
    expect(noted.rows).toEqual([{ propagates: 'off', count: expect.any(Number) }])
    expect(noted.rows[0]?.count).toBeGreaterThan(100)
    expect(scripted.rows).toEqual([{ propagates: 'off' }])
    expect(afterScript[0]?.set || null).toBeNull()
    const { rows } = await pool.query(`select current_setting('citus.enable_ddl_propagation', true) as set`)
    expect(rows[0]?.set || null).toBeNull()
  })

  it('without the catalogs only a table that does not exist is found', async () => {
    expect(await findMisplaced(driver, 'outlay', ['seen', 'nowhere'])).toEqual([
      { table: 'nowhere', kind: 'missing', accounts: 0, account: null, at: null },
    ])
  })

  it('finds the accounts whose rows are on another server, and says where', async () => {
    await pool.query(catalogs)
    await enqueue('here-1')
    expect(await findMisplaced(driver, 'outlay', ['invoice', 'own'])).toEqual([])
    await enqueue('there-1')
    await enqueue('there-2')
    const found = await findMisplaced(driver, 'outlay', ['own', 'invoice', 'currency'])
    expect(found).toEqual([
      { table: 'invoice', kind: 'elsewhere', accounts: 2, account: 'there-1', at: 'there:5433' },
      { table: 'currency', kind: 'everywhere', accounts: 0, account: null, at: null },
    ])
    expect(found.map(explainMisplacement)[0]).toContain(
      'of the account there-1 in invoice on there:5433, and of 1 further',
    )
  })

  it('a start is refused there, and passes for accounts that are settled', async () => {
    const error = await refusal(open(['invoice']).start())
    expect([error.code, error.field]).toEqual(['wrong_node', 'colocated'])
    await pool.query(`update outlay.transfer set stage = 'settled' where account_id like 'there-%'`)
    const one = open(['invoice'])
    await one.start()
    await one.stop()
  })
})
