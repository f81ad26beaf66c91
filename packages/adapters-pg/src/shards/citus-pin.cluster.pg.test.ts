import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { citusUrls, openCitus } from '../../test/citus-cluster.ts'
import { samplePayout } from '../../test/outbox.ts'
import { enqueueAt, refusal } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { findPinFault } from './citus-pin.ts'
import { directory } from './directory.ts'
import { shards } from './shards.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe.skipIf(citusUrls.length < 3)('a Citus cluster, where OUTLAY_CITUS_URLS names one', async () => {
  if (citusUrls.length < 3) return it('is not run: there is none', () => expect.unreachable())
  const cluster = await openCitus(citusUrls)
  const { coordinator, east, west } = cluster
  const route = directory({ pool: coordinator.pool, logger: silent })
  afterAll(async () => {
    await route.close()
    await cluster.close()
  })
  await coordinator.pool.query(`set citus.shard_replication_factor = 1;
    create table invoice (account_id text not null, id text not null, primary key (account_id, id));
    select create_distributed_table('invoice', 'account_id', shard_count => 8);
    create table outlay_pin (key text primary key);
    select create_distributed_table('outlay_pin', 'key', shard_count => 8, colocate_with => 'none');
    create table currency (code text primary key);
    select create_reference_table('currency')`)
  const made: ReturnType<typeof make>[] = []
  afterEach(async () => {
    await Promise.all(made.splice(0).map((one) => one.stop()))
  })
  const open = (pin?: string) => {
    const one = make(pin)
    made.push(one)
    return one
  }
  const make = (pin?: string) =>
    shards({
      nodes: {
        east: { driver: pgDriver(east.pool), citus: { at: east.at, pin } },
        west: { driver: pgDriver(west.pool), citus: { at: west.at, pin } },
      },
      ...{ route, engine: { gateway: memoryGateway() }, logger: silent, colocated: ['invoice'] },
    })
  await route.migrate()
  await open().migrate()
  /** Accounts whose rows of invoices Citus has on a server. */
  const accountsAt = async (server: typeof east, prefix: string, count: number) => {
    const { rows } = await coordinator.pool.query(
      `select a.id from (select $1 || n as id from generate_series(1, 500) n) a
       join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('invoice', a.id) and p.groupid = $2 limit $3`,
      [prefix, server.group, count],
    )
    return rows.map((row) => row.id as string)
  }
  const shardOf = async (accountId: string) =>
    (
      await coordinator.pool.query(`select get_shard_id_for_distribution_column('invoice', $1::text) as id`, [
        accountId,
      ])
    ).rows[0].id
  const moveShard = async (accountId: string, from: typeof east, to: typeof east, how = 'block_writes') => {
    const [source, target] = [from.at, to.at].map((at) => at.split(':'))
    await coordinator.pool.query(
      `select citus_move_shard_placement($1, $2, $3::integer, $4, $5::integer, $6::citus.shard_transfer_mode)`,
      [await shardOf(accountId), ...(source ?? []), ...(target ?? []), how],
    )
  }
  const cleanUp = () => coordinator.pool.query('call citus_cleanup_orphaned_resources()')
  const countOf = async (text: string, values: readonly string[], on: pg.Pool = coordinator.pool) =>
    Number((await on.query(text, [...values])).rows[0].count)

  /** A transaction of a host that writes an invoice and a payout, and whose own commit fails after what Citus does before it. */
  const failToCommit = async (on: ReturnType<typeof open>, accountId: string, isInvoiceFirst: boolean) => {
    await east.pool.query(`create table if not exists duty (name text primary key, is_on boolean); truncate duty;
      insert into duty values ('ann', true), ('ben', true)`)
    const [host, other] = [await east.pool.connect(), await east.pool.connect()]
    try {
      for (const one of [host, other]) await one.query('begin isolation level serializable')
      for (const [one, name] of [
        [host, 'ann'],
        [other, 'ben'],
      ] as const) {
        await one.query('select count(*) from duty where is_on')
        await one.query('update duty set is_on = false where name = $1', [name])
      }
      const pay = () => on.transfers.enqueue(host, samplePayout(accountId, { idempotencyKey: 'rent' }))
      if (!isInvoiceFirst) await pay()
      await host.query(`insert into invoice values ($1, 'rent')`, [accountId])
      if (isInvoiceFirst) await pay()
      await other.query('commit')
      await expect(host.query('commit')).rejects.toMatchObject({ code: '40001' })
    } finally {
      for (const one of [host, other]) one.release()
    }
    return {
      invoices: await countOf('select count(*) from invoice where account_id = $1', [accountId]),
      payouts: await countOf('select count(*) from outlay.transfer where account_id = $1', [accountId], east.pool),
    }
  }

  it('loses a payout without its invoice where its rows are elsewhere, and does not with the pin', async () => {
    await coordinator.pool.query(`create table if not exists duty (name text primary key, is_on boolean)`)
    const [silentCase = '', first = '', second = ''] = await accountsAt(west, 'lost-', 3)
    for (const accountId of [silentCase, first, second]) await route.assign(accountId, 'east')
    expect(await failToCommit(open(), silentCase, true)).toEqual({ invoices: 1, payouts: 0 })
    const pinned = open('outlay_pin')
    expect(await failToCommit(pinned, first, true)).toEqual({ invoices: 0, payouts: 0 })
    expect(await failToCommit(pinned, second, false)).toEqual({ invoices: 0, payouts: 0 })
  })

  it('commits an invoice and its payout with the pin, wherever the invoice is', async () => {
    const pinned = open('outlay_pin')
    for (const [server, prefix] of [
      [east, 'near-'],
      [west, 'far-'],
    ] as const) {
      const [accountId = ''] = await accountsAt(server, prefix, 1)
      await route.assign(accountId, 'east')
      await pinned.transaction(accountId, async (tx) => {
        await tx.query(`insert into invoice values ($1, 'rent')`, [accountId])
        await pinned.transfers.enqueueMany(tx, [samplePayout(accountId)])
      })
      await enqueueAt(pinned, accountId)
      expect(await countOf('select count(*) from invoice where account_id = $1', [accountId])).toBe(1)
      expect(await countOf('select count(*) from outlay.transfer where account_id = $1', [accountId], east.pool)).toBe(
        2,
      )
    }
    expect(await countOf('select count(*) from outlay_pin', [])).toBe(0)
  })

  it('refuses a start where rows are elsewhere, unless there is a pin that is one', async () => {
    const error = await refusal(open().start())
    expect([error.code, error.message]).toEqual(['wrong_node', expect.stringContaining(`in invoice on ${west.at}`)])
    const pinned = open('outlay_pin')
    await pinned.start()
    await pinned.stop()
    for (const [table, kind] of [
      ['currency', 'unknown'],
      ['nowhere', 'missing'],
      ['outlay.transfer', 'unknown'],
    ] as const) {
      expect(await findPinFault(pgDriver(east.pool), table)).toEqual({ table, kind })
      expect((await refusal(open(table).start())).field).toBe('nodes.east.citus.pin')
    }
  })

  it('moves accounts to where Citus has put their rows, and no account whose rows are on their way', async () => {
    const one = open()
    const [near = '', far = ''] = [
      ...(await accountsAt(east, 'follow-e', 1)),
      ...(await accountsAt(west, 'follow-w', 1)),
    ]
    for (const accountId of [near, far]) {
      await route.assign(accountId, 'east')
      await one.transaction(accountId, (tx) => one.transfers.enqueue(tx, samplePayout(accountId)))
    }
    const kindOf = async (accountId: string) =>
      (await one.accounts.placements()).placements.find((found) => found.accountId === accountId)
    expect(await kindOf(near)).toMatchObject({ node: 'east', rowsAt: 'east', kind: 'beside', advice: null })
    expect(await kindOf(far)).toMatchObject({ node: 'east', rowsAt: 'west', kind: 'elsewhere' })
    expect(await one.accounts.follow(far)).toMatchObject({ result: 'moved', to: 'west', transfers: 1 })
    expect(await one.accounts.follow(far)).toMatchObject({ result: 'there', to: 'west' })

    await moveShard(far, west, east)
    await cleanUp()
    expect(await one.accounts.follow(far, { reason: 'rebalanced' })).toMatchObject({ result: 'moved', to: 'east' })

    // A host that still writes lets Citus end its move only behind its commit, when the other server has the table of the shard for long.
    const host = await coordinator.pool.connect()
    await host.query('begin')
    await host.query(`insert into invoice values ($1, 'late')`, [far])
    const moving = moveShard(far, east, west, 'force_logical')
    const shard = await shardOf(far)
    const isThere = async () =>
      (await west.pool.query('select to_regclass($1) is not null as found', [`invoice_${shard}`])).rows[0].found
    while (!(await isThere())) await west.pool.query('select 1')
    expect(await refusal(one.accounts.follow(far))).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`the node "west" has a table of the shard ${shard}`),
    })
    expect(await kindOf(far)).toMatchObject({ kind: 'unsettled', rowsAt: null })
    await host.query('commit')
    host.release()
    await moving
    await cleanUp()
    expect(await one.accounts.follow(far)).toMatchObject({ result: 'moved', to: 'west', transfers: 1 })
  })

  it('refuses an enqueue whose pin has left the node', async () => {
    const pinned = open('outlay_pin')
    const [accountId = ''] = await accountsAt(east, 'pinned-', 1)
    await route.assign(accountId, 'east')
    await enqueueAt(pinned, accountId)
    const { rows } = await coordinator.pool.query(
      `select p.shardid from pg_dist_placement p join pg_dist_shard s on s.shardid = p.shardid
       where s.logicalrelid = 'outlay_pin'::regclass and p.groupid = $1`,
      [east.group],
    )
    const [source = [], target = []] = [east.at, west.at].map((at) => at.split(':'))
    for (const { shardid } of rows)
      await coordinator.pool.query(
        `select citus_move_shard_placement($1, $2, $3::integer, $4, $5::integer, 'block_writes')`,
        [shardid, ...source, ...target],
      )
    expect(await refusal(enqueueAt(pinned, accountId))).toMatchObject({
      code: 'wrong_node',
      field: 'nodes.east.citus.pin',
    })
    expect(await findPinFault(pgDriver(east.pool), 'outlay_pin')).toMatchObject({ kind: 'elsewhere' })
    expect(await countOf('select count(*) from outlay.transfer where account_id = $1', [accountId], east.pool)).toBe(1)
  })
})
