import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { citusCatalogs, withoutCitus } from '../../test/citus-catalogs.ts'
import { moveHost, payAt } from '../../test/move-host.ts'
import { type OpenShards, refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('an account that follows its rows', async () => {
  const host = await moveHost()
  const { east, west } = host
  const nodes = (eastAt = 'east:5432') => ({
    east: { driver: pgDriver(east), citus: { at: eastAt } },
    west: { driver: pgDriver(west), citus: { at: 'west:5433' } },
  })
  const open = async (options: OpenShards = {}) =>
    host.openAt({ nodes: nodes(), colocated: ['invoice', 'line'], ...options })
  beforeEach(async () => {
    await east.query(citusCatalogs(1))
    await west.query(citusCatalogs(2))
  })
  afterEach(async () => {
    for (const on of [east, west]) await on.query(withoutCitus)
    await east.query(`delete from outlay_directory.account_move; delete from outlay_directory.account`)
  })
  let lastShard = 100
  /** Says on both servers, or on one, that a group has the rows of an account in a table. */
  const place = async (account: string, group: number, tables = ['invoice', 'line'], servers = [east, west]) => {
    for (const table of tables) {
      lastShard += 1
      for (const on of servers) {
        await on.query('delete from shard_of where relation = $1::regclass and account_id = $2', [table, account])
        await on.query('insert into shard_of values ($1::regclass, $2, $3)', [table, account, lastShard])
        await on.query('insert into pg_dist_placement values ($1, 1, $2)', [lastShard, group])
      }
    }
    return lastShard
  }

  it('moves to the node that has them, and stays where it is beside them', async () => {
    const { shards, account } = await open()
    const { id } = await payAt(shards, account, 'first')
    await place(account, 1)
    expect(await shards.accounts.follow(account)).toMatchObject({ result: 'there', to: 'east' })
    await place(account, 2)
    const moved = await shards.accounts.follow(account, { actor: 'ann', reason: 'rebalanced' })
    expect(moved).toMatchObject({ result: 'moved', from: 'east', to: 'west', transfers: 1 })
    expect(await host.live(account)).toEqual({ east: [], west: [id] })
    const audit = await west.query(`select actor, reason from outlay.audit where command = 'accounts.move'`)
    expect(audit.rows).toContainEqual({ actor: 'ann', reason: 'rebalanced' })
  })

  const refusals = {
    'two servers have its shard': [
      async (account: string) => {
        const shard = await place(account, 2)
        for (const on of [east, west]) await on.query('insert into pg_dist_placement values ($1, 1, 1)', [shard])
      },
      'unsettled',
      'has not exactly one active placement',
    ],
    'no server has its shard': [
      async (account: string) => {
        const shard = await place(account, 2)
        for (const on of [east, west]) await on.query('delete from pg_dist_placement where shardid = $1', [shard])
      },
      'unsettled',
      'has not exactly one active placement',
    ],
    'its placement is to be dropped': [
      async (account: string) => {
        const shard = await place(account, 2)
        for (const on of [east, west])
          await on.query('update pg_dist_placement set shardstate = 4 where shardid = $1', [shard])
      },
      'unsettled',
      'has not exactly one active placement',
    ],
    'the servers say different things': [
      async (account: string) => {
        await place(account, 2)
        await place(account, 1, ['invoice'], [east])
      },
      'unsettled',
      'say different things about its shard of invoice',
    ],
    'another server still has a table of it': [
      async (account: string) => {
        const shard = await place(account, 2)
        await east.query(`create table line_${shard} (id integer)`)
      },
      'unsettled',
      'the node "east" has a table of the shard',
    ],
    'its tables are on several servers': [
      async (account: string) => {
        await place(account, 2)
        await place(account, 1, ['line'])
      },
      'split',
      'invoice on west:5433, line on east:5432',
    ],
    'its rows are on the coordinator': [async (account: string) => place(account, 0), 'unknown', 'coordinator:5432'],
    'its rows are on a server that is no node': [
      async (account: string) => place(account, 3),
      'unknown',
      'elsewhere:5434',
    ],
  } as const
  it.for(Object.entries(refusals))('is refused while %s', async ([, [make, kind, text]]) => {
    const { shards, account } = await open()
    const { id } = await payAt(shards, account, 'first')
    await make(account)
    const { placements } = await shards.accounts.placements()
    expect(placements).toEqual([
      {
        accountId: account,
        node: 'east',
        rowsAt: null,
        kind,
        isMoving: false,
        advice: expect.stringContaining(text.replace(/^the /, 'The ')),
      },
    ])
    expect(await refusal(shards.accounts.follow(account))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(text),
    })
    expect(await host.live(account)).toEqual({ east: [id], west: [] })
    expect((await east.query('select from outlay_directory.account_move')).rows).toEqual([])
  })

  it('goes on with a move that has not ended, takes one back, and ends one that has switched first', async () => {
    const { shards, account } = await open()
    await payAt(shards, account, 'first')
    const die = async (step: string, to: string) => {
      const onProgress = (progress: { readonly step: string }) => {
        if (progress.step === step) throw new Error('The mover ends here.')
      }
      await expect(shards.accounts.move(account, { to, onProgress })).rejects.toThrow('ends here')
    }
    const dead = async (step: string, to: string) => {
      // A throw before the switch takes the move back; a lost connection does not.
      const onProgress = (progress: { readonly step: string }) => {
        if (progress.step === step) throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
      }
      await expect(shards.accounts.move(account, { to, onProgress })).rejects.toThrow('connection lost')
    }
    await dead('packed', 'west')
    await place(account, 3)
    expect((await shards.accounts.placements()).placements).toMatchObject([{ kind: 'unknown', isMoving: true }])
    await place(account, 2)
    expect((await shards.accounts.placements()).placements).toMatchObject([{ kind: 'moving', rowsAt: 'west' }])
    expect(await shards.accounts.follow(account)).toMatchObject({ result: 'moved', to: 'west' })
    await dead('packed', 'east')
    expect(await shards.accounts.follow(account)).toMatchObject({ result: 'returned', to: 'west' })
    await die('switched', 'east')
    expect(await shards.accounts.follow(account)).toMatchObject({ result: 'moved', from: 'east', to: 'west' })
    expect((await shards.accounts.placements()).placements).toMatchObject([{ kind: 'beside' }])
    expect((await host.live(account)).west).toHaveLength(1)
  })

  it('reads the accounts of the directory page by page', async () => {
    const { shards } = await open()
    await east.query('delete from outlay_directory.account')
    for (const account of ['a', 'b', 'c']) {
      await host.route.assign(account, 'east')
      await place(account, account === 'b' ? 2 : 1)
    }
    const first = await shards.accounts.placements({ limit: 2 })
    expect([first.placements.map(({ kind }) => kind), first.next]).toEqual([['beside', 'elsewhere'], 'b'])
    const second = await shards.accounts.placements({ after: first.next ?? '', limit: 2 })
    expect([second.placements.map(({ accountId }) => accountId), second.next, second.missing]).toEqual([
      ['c'],
      null,
      [],
    ])
  })

  it('needs only the two nodes that it is about', async () => {
    const dead = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1 })
    const third = { driver: pgDriver(dead), citus: { at: 'elsewhere:5434' } }
    const one = host.make({ nodes: { ...nodes(), third }, route: host.route, colocated: ['invoice'] })
    const { account } = await open()
    await place(account, 2)
    expect((await one.accounts.placements()).missing).toMatchObject([{ node: 'third' }])
    expect(await one.accounts.follow(account)).toMatchObject({ result: 'moved', to: 'west' })
    await place(account, 3)
    expect((await refusal(one.accounts.follow(account))).code).toBe('node_unavailable')
    await dead.end()
  })

  it('is refused where the options do not fit the cluster', async () => {
    const { shards, account } = await open()
    await place(account, 2)
    const failed = async (options: OpenShards) =>
      refusal(
        host.make({ route: host.route, nodes: nodes(), colocated: ['invoice'], ...options }).accounts.follow(account),
      )
    expect((await failed({ colocated: [] })).field).toBe('colocated')
    expect(
      (await failed({ nodes: { east: { driver: pgDriver(east) }, west: { driver: pgDriver(west) } } })).field,
    ).toBe('nodes')
    expect(await failed({ nodes: nodes('worker:5432') })).toMatchObject({
      code: 'wrong_node',
      field: 'nodes.east.citus.at',
      message: expect.stringContaining('is the server east:5432 in pg_dist_node, and not worker:5432'),
    })
    expect(await failed({ colocated: ['invoice', 'own'] })).toMatchObject({
      code: 'wrong_node',
      field: 'colocated',
      message: expect.stringContaining('does not know own'),
    })
    expect((await failed({ route: () => 'east' })).field).toBe('route')
    expect((await refusal(shards.accounts.follow('nobody'))).code).toBe('not_found')
    expect((await refusal(shards.accounts.follow('no body'))).code).toBe('invalid_id')
    for (const at of ['worker', ':5432', 'a b:1', 5432]) {
      const citus = { at } as { readonly at: string }
      expect(() => host.make({ nodes: { east: { driver: pgDriver(east), citus } } })).toThrow('nodes.east.citus.at')
    }
    expect(() => host.make({ nodes: { ...nodes('west:5433') } })).toThrow('two nodes have one server')
    await west.query(withoutCitus)
    expect((await refusal(shards.accounts.follow(account))).message).toContain('"west" is no server of a Citus cluster')
  })
})
