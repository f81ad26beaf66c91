import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directory, pgDriver, shards } from '@outlay/adapters-pg'
import { memoryGateway } from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

/** What is read of Citus's catalogs, in the server of a group. `shard_of` says where an account is. */
const catalogs = (group: number) => `
  create table pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
  create table pg_dist_local_group (groupid integer);
  create table pg_dist_node (nodeid integer, groupid integer, nodename text, nodeport integer, noderole text);
  create table pg_dist_placement (shardid bigint, shardstate integer, groupid integer);
  create table shard_of (account_id text, shardid bigint);
  create function get_shard_id_for_distribution_column(regclass, anyelement) returns bigint language sql
    as 'select s.shardid from shard_of s where s.account_id = $2::text';
  create function shard_name(regclass, bigint) returns text language sql as 'select $1 || ''_'' || $2';
  create function column_to_column_name(regclass, text) returns text language sql as 'select $2';
  insert into pg_dist_local_group values (${group});
  insert into pg_dist_node values (1, 1, 'one', 5432, 'primary'), (2, 2, 'two', 5432, 'primary'), (3, 3, 'three', 5432, 'primary');
  create table invoice (account_id text);
  insert into pg_dist_partition values ('invoice', 'h', 'account_id', 's');
  insert into pg_dist_placement values (100, 1, 1), (200, 1, 2), (300, 1, 3);
  insert into shard_of values ('beside', 100), ('away', 200), ('lost', 300), ('later', 200)`

describe('accounts move --follow', async () => {
  const host = await testHost()
  const westUrl = await host.database.another()
  const west = new pg.Pool({ connectionString: westUrl, max: 4 })
  west.on('error', () => undefined)
  const folder = await mkdtemp(join(tmpdir(), 'outlay-cli-follow-'))
  const route = directory({ pool: host.pool })
  const nodes = { one: '$ONE_URL', two: '$TWO_URL' }
  const env = { ONE_URL: host.database.url, TWO_URL: westUrl }
  const write = async (name: string, file: unknown) => {
    const path = join(folder, name)
    await writeFile(path, JSON.stringify(file))
    return path
  }
  const citus = { one: { at: 'one:5432' }, two: { at: 'two:5432' } }
  const all = { nodes, directory: '$ONE_URL', colocated: ['invoice'], citus }
  const file = await write('all.json', all)
  const run = (...args: string[]) => outlay(['--shards', file, 'accounts', 'move', ...args], env)
  const read = async (...args: string[]) => {
    const { code, stdout } = await run(...args, '--json')
    return { code, ...(JSON.parse(stdout) as Readonly<Record<string, unknown>>) }
  }
  /** Says on both servers that a shard has the rows of an account. */
  const place = async (account: string, shard: number) => {
    for (const on of [host.pool, west])
      await on.query('update shard_of set shardid = $2 where account_id = $1', [account, shard])
  }
  beforeAll(async () => {
    await route.migrate()
    const on = shards({
      ...{ nodes: { one: { driver: host.driver }, two: { driver: pgDriver(west) } }, route },
      engine: { gateway: memoryGateway() },
    })
    await on.migrate()
    for (const account of ['away', 'beside', 'later', 'lost']) await route.assign(account, 'one')
    await host.pool.query(catalogs(1))
    await west.query(catalogs(2))
  })
  afterAll(async () => {
    await route.close()
    await west.end()
    await rm(folder, { recursive: true })
  })

  it('lists first, and changes nothing', async () => {
    const { code, stdout } = await run('--follow', '--all', '--dry-run')
    expect([code, stdout.split('\n')]).toEqual([
      1,
      [
        'away is on "one", and its rows are on "two".',
        'later is on "one", and its rows are on "two".',
        expect.stringMatching(/^lost is on "one"\. Its rows are on three:5432, which is the "citus" of no node/),
        '4 accounts compared; 2 accounts would move, and 1 cannot.',
        '',
      ],
    ])
    expect(await read('later', '--follow', '--dry-run')).toMatchObject({ code: 0, compared: 1, missing: [] })
    expect(await route.find('later')).toBe('one')
  })

  it('moves one, then all that are left, and says which cannot', async () => {
    const one = await run('away', '--follow', '--reason', 'rebalanced')
    expect([one.code, one.stdout]).toEqual([0, expect.stringMatching(/^away moved from "one" to "two"/)])
    const { rows } = await west.query(`select reason from outlay.audit where command = 'accounts.move'`)
    expect(rows).toEqual([{ reason: 'rebalanced' }])
    expect(await read('--follow', '--all')).toMatchObject({
      code: 1,
      compared: 4,
      followed: [
        { accountId: 'later', kind: 'elsewhere', moved: { result: 'moved', to: 'two' } },
        { accountId: 'lost', kind: 'unknown', rowsAt: null },
      ],
    })
    const lost = await run('lost', '--follow')
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('which is the "citus" of no node')])
    await place('lost', 100)
    expect((await run('--follow', '--all')).stdout).toBe('4 accounts compared; 0 accounts moved.\n')
    expect((await run('--follow', '--all')).code).toBe(0)
  })

  it('stops at transactions that last, for which each of the others would wait, too', async () => {
    await place('away', 100)
    await place('later', 100)
    const client = await west.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select 1')
    const { code, stdout } = await run('--follow', '--all', '--wait', '1s')
    await client.query('rollback')
    client.release()
    expect([code, stdout.split('\n')]).toEqual([
      1,
      [
        expect.stringMatching(/^away stays on "two": .* transactions from before have not ended on "two"/),
        '4 accounts compared; 0 accounts moved, and 1 cannot. The others were not tried: they would wait for the same transactions.',
        '',
      ],
    ])
  })

  it('says of an account whose move lost a node behind its switch that it may be on none', async () => {
    await place('away', 100)
    await place('later', 200)
    await west.query(
      `create function end_session() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
       create trigger end_session before update on outlay.departed_account for each row when (new.state = 'handed_over') execute function end_session()`,
    )
    const { code, stdout } = await run('--follow', '--all')
    await west.query('drop trigger end_session on outlay.departed_account; drop function end_session()')
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^away may be on no node, since .*: The node "two" did not answer.* Run this again/),
    ])
    // What keeps it from going on is said beside that, and not in place of it.
    await place('away', 300)
    expect(await read('away', '--follow', '--dry-run')).toMatchObject({
      followed: [{ accountId: 'away', kind: 'unknown', isMoving: true }],
    })
    expect((await run('away', '--follow', '--dry-run')).stdout).toMatch(
      /^away of "\w+" may be on no node, since a move of it has not ended\. Its rows are on three:5432/,
    )
    await place('away', 100)
    expect((await run('--follow', '--all')).stdout).toContain('away moved from "two" to "one"')
  })

  it('refuses what it cannot do, and says what to give', async () => {
    for (const [args, text] of [
      [['away'], 'either --to <node> or --follow'],
      [['away', '--to', 'two', '--follow'], 'either --to <node> or --follow'],
      [['away', '--to', 'two', '--dry-run'], 'Give --follow'],
      [['--to', 'two', '--all'], 'Give --follow'],
      [['--follow'], 'the id of one'],
      [['away', '--follow', '--all'], 'the id of one'],
    ] as const) {
      const { code, stderr } = await run(...args)
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(text)])
    }
    expect((await run('nobody', '--follow', '--dry-run')).code).toBe(1)
    for (const given of [
      { one: { at: 1 } },
      { one: { port: 'x' } },
      { three: { at: 'three:5432' } },
      { one: {} },
      null,
    ]) {
      const path = await write('wrong.json', { ...all, citus: given })
      const { code, stderr } = await outlay(['--shards', path, 'status'], env)
      expect([code, stderr]).toEqual([1, expect.stringContaining('The "citus" of')])
    }
  })

  it('has a doctor that checks the pin', async () => {
    const codes = async (pin: string) => {
      const path = await write('pinned.json', { ...all, citus: { one: { pin } }, nodes: { one: '$ONE_URL' } })
      return (await outlay(['--shards', path, 'doctor', '--json'], env)).stdout
    }
    expect(await codes('invoice')).toContain('"pin_elsewhere"')
    expect(await codes('nowhere')).toContain('"pin_missing"')
    await host.pool.query(`insert into shard_of values ('1', 100)`)
    expect(await codes('invoice')).not.toContain('"pin_')
  })
})
