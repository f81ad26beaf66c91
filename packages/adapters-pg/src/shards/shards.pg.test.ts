import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway } from '../../test/restored-database.ts'
import { enqueueAt, refusal, shardHost } from '../../test/shard-host.ts'
import type { Driver } from '../database/driver.ts'
import { pgDriver } from '../drivers/pg.ts'
import { chunkSize } from '../enqueue/enqueue-chunks.ts'

describe('shards on two servers', async () => {
  const host = await shardHost()
  const { east, west, accountsOf } = host

  /** A driver that counts the statements in the host's transactions. */
  const counted = (pool: pg.Pool) => {
    const names: string[] = []
    const driver: Driver<pg.PoolClient> = pgDriver(pool)
    const execute: typeof driver.execute = (tx, statement, values) => {
      names.push(statement.name)
      return driver.execute(tx, statement, values)
    }
    return { names, driver: { ...driver, execute } }
  }

  it('write a payout on the node of its account, in the one statement that an engine needs', async () => {
    const at = counted(west)
    const shards = await host.open({ nodes: { east: { driver: pgDriver(east) }, west: { driver: at.driver } } })
    const transfer = await enqueueAt(shards, 'w-1')
    await enqueueAt(shards, 'e-1')
    expect([await accountsOf(east), await accountsOf(west)]).toEqual([['e-1'], ['w-1']])
    expect(at.names).toEqual(['outlay_outlay_enqueue_one_at'])
    expect(await shards.transfers.getByKey('w-1', transfer.idempotencyKey)).toMatchObject({ id: transfer.id })
    expect((await shards.nodeOf('w-1')).name).toBe('west')
  })

  it.each([
    ['a payout', samplePayout('w-1')],
    ['one with metadata', samplePayout('w-1', { metadata: { order: '7' } })],
  ])(
    'refuse %s in a transaction of another node before anything is written, and leave that usable',
    async (_, request) => {
      const { telemetry } = tracing()
      for (const engine of [{ gateway: memoryGateway() }, { gateway: memoryGateway(), telemetry }]) {
        const shards = await host.open({ engine })
        await east.query('create table if not exists note (text text); truncate note')
        await pgDriver(east).transaction(async (tx) => {
          const error = await refusal(shards.transfers.enqueue(tx, request))
          expect([error.code, error.field]).toEqual(['wrong_node', 'tx'])
          expect(error.message).toContain(
            'The account w-1 is on the node "west", and tx is a transaction of the node "east"',
          )
          await tx.query(`insert into note values ('stays')`)
        })
        const { rows } = await east.query('select text from note')
        expect(rows).toEqual([{ text: 'stays' }])
        for (const table of ['transfer', 'outbox', 'event', 'trace_context', 'transfer_metadata']) {
          expect((await east.query(`select 1 from outlay.${table}`)).rows, table).toEqual([])
        }
        expect(await accountsOf(west)).toEqual([])
        await shards.stop()
      }
    },
  )

  it('refuse a payout in a batch of another node, of which accounts may have been anywhere', async () => {
    const { telemetry } = tracing()
    for (const engine of [{ gateway: memoryGateway() }, { gateway: memoryGateway(), telemetry }]) {
      const shards = await host.open({ engine })
      await pgDriver(east).transaction(async (tx) => {
        const { id: batchId } = await shards.batches.create(tx, {})
        for (const extras of [{}, { metadata: { order: '7' } }]) {
          const error = await refusal(shards.transfers.enqueue(tx, samplePayout('w-1', { batchId, ...extras })))
          expect([error.code, error.field]).toEqual(['wrong_node', 'tx'])
        }
      })
      expect([await accountsOf(east), await accountsOf(west)]).toEqual([[], []])
      await shards.stop()
    }
  })

  it('refuse a payout elsewhere as such, where a policy would refuse what was never paid before', async () => {
    const shards = await host.open()
    await shards.policies.prepare()
    await shards.policies.setAll([{ name: 'new', when: { newCounterparty: 'account' }, refuse: 'unknown' }], {
      ...{ actor: 'ann', reason: 'a test' },
    })
    await pgDriver(east).transaction(async (tx) => {
      const one = samplePayout('w-1')
      expect((await refusal(shards.transfers.enqueue(tx, one))).code).toBe('wrong_node')
      expect((await refusal(shards.transfers.enqueueMany(tx, [one, samplePayout('w-1')]))).code).toBe('wrong_node')
    })
    expect((await refusal(enqueueAt(shards, 'w-1'))).code).toBe('policy_refused')
    await shards.policies.setAll([], { actor: 'ann', reason: 'a test', clear: true })
  })

  it('refuse every other command of an account in a transaction of another node', async () => {
    const shards = await host.open()
    const { accounts, transfers, stops, batches } = shards
    await pgDriver(east).transaction(async (tx) => {
      const commands = [
        () => transfers.enqueueMany(tx, [samplePayout('w-1'), samplePayout('w-2')]),
        () => accounts.pause(tx, 'w-1'),
        () => accounts.configure(tx, 'w-1', { weight: 2 }),
        () => transfers.observe(tx, 'w-1', []),
        () => transfers.observeMany(tx, [{ accountId: 'w-1', observations: [] }]),
        () => stops.add(tx, { scope: 'account', name: 'w-1' }),
        () => batches.create(tx, { accountId: 'w-1' }),
      ]
      for (const command of commands) expect((await refusal(command())).code).toBe('wrong_node')
    })
    expect((await east.query('select 1 from outlay.account union all select 1 from outlay.stop')).rows).toEqual([])
    expect(await accountsOf(east)).toEqual([])
  })

  it('refuse accounts of two nodes in one call, and name the first that is elsewhere', async () => {
    const shards = await host.open()
    const error = await shards.transaction('e-1', (tx) =>
      refusal(shards.transfers.enqueueMany(tx, [samplePayout('e-1'), samplePayout('e-2'), samplePayout('w-1')])),
    )
    expect([error.code, error.field]).toEqual(['wrong_node', '2.accountId'])
    expect([await accountsOf(east), await accountsOf(west)]).toEqual([[], []])
    const observed = ['e-1', 'w-1'].map((accountId) => ({ accountId, observations: [] }))
    const other = await shards.transaction('e-1', (tx) => refusal(shards.transfers.observeMany(tx, observed)))
    expect([other.code, other.field]).toEqual(['wrong_node', '1.accountId'])
    const own = observed.slice(0, 1)
    expect(await shards.transaction('e-1', (tx) => shards.transfers.observeMany(tx, own))).toBe(0)
  })

  it('refuse an account that has left its node, whatever the route says, and the node may take it back', async () => {
    const shards = await host.open()
    await east.query(`insert into outlay.departed_account (account_id, to_node, version) values ('e-1', 'west', 2)`)
    await shards.transaction('e-1', async (tx) => {
      const error = await refusal(shards.transfers.enqueue(tx, samplePayout('e-1')))
      expect(error.code).toBe('wrong_node')
      expect(error.message).toContain('has left the node "east" for "west"')
      expect((await refusal(shards.accounts.pause(tx, 'e-1'))).code).toBe('wrong_node')
    })
    expect(await accountsOf(east)).toEqual([])
    await enqueueAt(shards, 'e-2')
    await east.query('delete from outlay.departed_account')
    await enqueueAt(shards, 'e-1')
    expect(await accountsOf(east)).toEqual(['e-2', 'e-1'])
  })

  it('run commands of a transfer on the node of the transaction, and find it on any without one', async () => {
    const shards = await host.open()
    const [inEast, inWest] = [await enqueueAt(shards, 'e-1'), await enqueueAt(shards, 'w-1')]
    expect(await shards.transfers.get(inWest.id)).toMatchObject({ accountId: 'w-1' })
    expect(await shards.transfers.get('01J0000000000000000000000A')).toBeUndefined()
    await shards.transaction('w-1', async (tx) => {
      expect(await shards.transfers.get(inEast.id, tx)).toBeUndefined()
      expect((await refusal(shards.transfers.cancel(tx, inEast.id))).code).toBe('transfer_not_found')
      await shards.transfers.cancel(tx, inWest.id)
      expect(await shards.transfers.resubmit(tx, inWest.id)).toMatchObject({ resubmissionOf: inWest.id })
    })
    expect([await accountsOf(east), await accountsOf(west)]).toEqual([['e-1'], ['w-1', 'w-1']])
    expect(await shards.backlog()).toMatchObject({ queued: 2, settled: 1, nodes: { east: { queued: 1 } }, missing: [] })
  })

  it('find the transfers of all nodes in one order, each on one page', async () => {
    const shards = await host.open()
    const ids: string[] = []
    for (const accountId of ['e-1', 'w-1', 'w-1', 'e-1', 'w-2', 'e-2', 'w-1', 'w-1']) {
      ids.push((await enqueueAt(shards, accountId)).id)
    }
    for (const limit of [1, 2, 3, 50]) {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await shards.transfers.find({ limit, cursor })
        expect([page.transfers.length <= limit, page.missing]).toEqual([true, []])
        found.push(...page.transfers.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      expect(found).toEqual(ids.toReversed())
    }
    expect((await shards.transfers.find({ accountId: 'w-2' })).transfers).toHaveLength(1)
    expect((await refusal(shards.transfers.find({ limit: -1 }))).code).toBe('invalid_request')
  })

  it('deliver the events of every node, in transactions of that node', async () => {
    const shards = await host.open()
    await Promise.all(
      [east, west].map((pool) => pool.query('create table if not exists paid (account_id text); truncate paid')),
    )
    const seen = Promise.withResolvers<void>()
    let count = 0
    shards.subscribe('paid', ['transfer.completed'], async (event, tx) => {
      await tx.query('insert into paid values ($1)', [event.accountId])
      count += 1
      if (count === 2) seen.resolve()
    })
    await shards.start()
    expect(shards.workers().phase).toBe('running')
    await Promise.all([enqueueAt(shards, 'e-1'), enqueueAt(shards, 'w-1')])
    await seen.promise
    await shards.stop()
    for (const [pool, account] of [
      [east, 'e-1'],
      [west, 'w-1'],
    ] as const) {
      expect((await pool.query('select account_id from paid')).rows).toEqual([{ account_id: account }])
    }
    expect(shards.workers().phase).toBe('stopped')
  })

  it('write nothing of many whose last account has left the node, and leave the transaction usable', async () => {
    const shards = await host.open()
    await east.query(`insert into outlay.departed_account (account_id, to_node, version) values ('e-2', 'west', 2)`)
    const many = [...Array.from({ length: chunkSize }, () => samplePayout('e-1')), samplePayout('e-2')]
    await pgDriver(east).transaction(async (tx) => {
      expect((await refusal(shards.transfers.enqueueMany(tx, many))).code).toBe('wrong_node')
      await shards.transfers.enqueue(tx, samplePayout('e-3'))
    })
    expect(await accountsOf(east)).toEqual(['e-3'])
  })

  it('refuse to start where connection strings are exchanged, and start nothing', async () => {
    await host.open()
    const exchanged = host.make({ nodes: { east: { driver: pgDriver(west) }, west: { driver: pgDriver(east) } } })
    const error = await refusal(exchanged.start())
    expect(error.code).toBe('wrong_node')
    expect(error.message).toContain('configured as the node "east" is the node "west"')
    expect(exchanged.workers().phase).toBe('stopped')
    expect((await refusal(enqueueAt(exchanged, 'e-1'))).code).toBe('wrong_node')
  })

  it('wait for a directory of the host no longer than for a node, and write nothing', async () => {
    const find = () => new Promise<string>(() => undefined)
    const shards = host.make({ route: { find, forget() {} }, timeoutMs: 1_000 })
    await pgDriver(east).transaction(async (tx) => {
      expect((await refusal(shards.transfers.enqueue(tx, samplePayout('e-1')))).code).toBe('node_unavailable')
    })
    expect(await accountsOf(east)).toEqual([])
  })

  it('compare nothing of the accounts of other nodes on one of them, which would adopt what these have', async () => {
    const gateway = listingGateway()
    const shards = await host.open({ engine: { gateway } })
    const { id } = await enqueueAt(shards, 'w-1')
    await shards.start()
    await waitUntil(async () => (await shards.transfers.get(id))?.remoteId !== null)
    const { driver, engine } = await shards.nodeOf('e-1')
    await driver.transaction((tx) => engine.fence(tx))
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const error = await refusal(engine.reconcile({ since, accounts: ['e-1', 'w-1'] }))
    expect([error.code, error.field]).toEqual(['wrong_node', 'accounts.1'])
    expect(await accountsOf(east)).toEqual([])
    expect(await engine.reconcile({ since, accounts: ['e-1'] })).toMatchObject({ read: 0 })
    await east.query('delete from outlay.known_database')
  })

  it('refuse a route that names no node, and one that gives a promise', async () => {
    const wrong = await host.open({ route: () => 'north' })
    await expect(wrong.nodeOf('a')).rejects.toThrow('The route of the account a is "north", which is no node')
    const late = await host.open({ route: (async () => 'east') as never })
    await expect(late.nodeOf('a')).rejects.toThrow('no promise')
  })
})

/** Telemetry with which an enqueue stores its context. */
function tracing() {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const span = { traceparent, rename() {}, set() {}, fail() {}, measure() {} }
  const telemetry = {
    span: <T>(_name: string, _options: unknown, work: (given: typeof span) => Promise<T>) => work(span),
    current: () => traceparent,
    count() {},
    record() {},
    gauges: () => () => undefined,
  }
  return { telemetry }
}
