import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { citusCatalogs, withoutCitus } from '../../test/citus-catalogs.ts'
import { samplePayout } from '../../test/outbox.ts'
import { enqueueAt, refusal, shardHost } from '../../test/shard-host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { explainPinFault, findPinFault } from './citus-pin.ts'

describe('the pin of a node', async () => {
  const host = await shardHost()
  const { east, west } = host
  beforeEach(async () => {
    for (const [on, group] of [
      [east, 1],
      [west, 2],
    ] as const) {
      await on.query(citusCatalogs(group))
      await on.query(`insert into pg_dist_placement values (10, 1, 1), (20, 1, 2);
        insert into shard_of values ('pin', '1', 10), ('pin', '2', 20);
        insert into pin values ('1'), ('2')`)
    }
  })
  afterEach(async () => {
    for (const on of [east, west]) await on.query(withoutCitus)
  })
  /** Shards that note the statements of transactions, in their order. */
  const open = async (table = 'pin') => {
    const sent: string[] = []
    const noting = (pool: pg.Pool) => {
      const driver = pgDriver(pool)
      const execute: typeof driver.execute = (tx, statement, values) => {
        sent.push(`${statement.text} ${JSON.stringify(values)}`)
        return driver.execute(tx, statement, values)
      }
      return { driver: { ...driver, execute }, citus: { pin: table } }
    }
    return { sent, shards: await host.open({ nodes: { east: noting(east), west: noting(west) } }) }
  }
  const touched = (value: string) =>
    expect.stringMatching(new RegExp(`^delete from pin where key = .*\\["${value}"\\]$`))

  it('is touched before each enqueue, by a value of a shard on that node, and keeps its rows', async () => {
    const { sent, shards } = await open()
    await enqueueAt(shards, 'east-1')
    expect(sent.findIndex((text) => /^delete from pin.*\["1"\]$/.test(text))).toBeGreaterThanOrEqual(0)
    expect(sent.findIndex((text) => text.startsWith('delete from pin'))).toBeLessThan(
      sent.findIndex((text) => text.includes('enqueue_one')),
    )
    sent.length = 0
    await shards.transaction('west-1', (tx) => shards.transfers.enqueueMany(tx, [samplePayout('west-1')]))
    expect(sent).toContainEqual(touched('2'))
    sent.length = 0
    await pgDriver(east).transaction((tx) => shards.pinTransaction(tx))
    expect(sent).toContainEqual(touched('1'))
    expect((await east.query('select key from pin order by key')).rows).toEqual([{ key: '1' }, { key: '2' }])
  })

  it('needs no other connection of the pool for that', async () => {
    const pool = new pg.Pool({ connectionString: host.eastUrl, max: 1 })
    await host.open()
    const one = host.make({ nodes: { east: { driver: pgDriver(pool), citus: { pin: 'pin' } } }, route: () => 'east' })
    await enqueueAt(one, 'east-1')
    expect(await host.accountsOf(east)).toEqual(['east-1'])
    await pool.end()
  })

  it('that has left the node refuses the enqueue before anything is written', async () => {
    const { shards } = await open()
    await enqueueAt(shards, 'east-1')
    await east.query(`update pg_dist_placement set groupid = 2 where shardid = 10`)
    const error = await refusal(enqueueAt(shards, 'east-2'))
    expect([error.code, error.field]).toEqual(['wrong_node', 'nodes.east.citus.pin'])
    // The next one finds another shard, where there is one.
    expect((await refusal(enqueueAt(shards, 'east-2'))).message).toContain('No shard of the table pin')
    await east.query(`update pg_dist_placement set groupid = 1 where shardid = 20`)
    await enqueueAt(shards, 'east-3')
    expect(await host.accountsOf(east)).toEqual(['east-1', 'east-3'])
  })

  it('says of a transaction of another node that it is one', async () => {
    const { shards } = await open()
    await enqueueAt(shards, 'east-1')
    for (const enqueue of [
      (tx: pg.PoolClient) => shards.transfers.enqueue(tx, samplePayout('east-1')),
      (tx: pg.PoolClient) => shards.transfers.enqueueMany(tx, [samplePayout('east-1')]),
    ]) {
      const error = await refusal(pgDriver(west).transaction<unknown>(enqueue))
      expect([error.code, error.field]).toEqual(['wrong_node', 'tx'])
    }
  })

  it('is checked at the start', async () => {
    const { shards } = await open()
    await shards.start()
    await shards.stop()
    for (const [table, kind] of [
      ['nowhere', 'missing'],
      ['own', 'unknown'],
      ['invoice', 'elsewhere'],
    ] as const) {
      const fault = { table, kind }
      expect(await findPinFault(pgDriver(east), table)).toEqual(fault)
      const error = await refusal((await open(table)).shards.start())
      expect([error.code, error.field]).toEqual(['wrong_node', 'nodes.east.citus.pin'])
      expect(error.message).toContain(explainPinFault(fault))
    }
    await east.query(withoutCitus)
    expect(await findPinFault(pgDriver(east), 'pin')).toEqual({ table: 'pin', kind: 'no_citus' })
    expect(() => host.make({ nodes: { east: { driver: pgDriver(east), citus: { pin: ' ' } } } })).toThrow('citus.pin')
  })

  it('lets a start pass where rows are elsewhere', async () => {
    const { shards } = await open()
    await east.query(`insert into shard_of values ('invoice', 'east-1', 20)`)
    await enqueueAt(shards, 'east-1')
    const nodes = (pin?: string) => ({ east: { driver: pgDriver(east), citus: { pin } } })
    const start = (pin: string | undefined, colocated: readonly string[]) =>
      host.make({ nodes: nodes(pin), route: () => 'east', colocated }).start()
    expect((await refusal(start(undefined, ['invoice']))).field).toBe('colocated')
    await start('pin', ['invoice'])
    expect((await refusal(start('pin', ['nowhere']))).field).toBe('colocated')
  })
})
