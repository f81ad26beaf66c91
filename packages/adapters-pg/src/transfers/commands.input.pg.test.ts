import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrateOutbox } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

type HostEngine = ReturnType<typeof createEngine<pg.PoolClient>>
type Command = (engine: HostEngine, tx: pg.PoolClient) => unknown

const withNul = 'a\0b'
const accountIds = [withNul, undefined, '', 'acme ', 5, 'x'.repeat(300)] as string[]

const ofAccounts: Readonly<Record<string, (engine: HostEngine, tx: pg.PoolClient, accountId: string) => unknown>> = {
  fundsArrived: ({ accounts }, tx, id) => accounts.fundsArrived(tx, id),
  pause: ({ accounts }, tx, id) => accounts.pause(tx, id),
  resume: ({ accounts }, tx, id) => accounts.resume(tx, id),
  retryCredentials: ({ accounts }, tx, id) => accounts.retryCredentials(tx, id),
  watch: ({ accounts }, tx, id) => accounts.watch(tx, id),
  unwatch: ({ accounts }, tx, id) => accounts.unwatch(tx, id),
  configure: ({ accounts }, tx, id) => accounts.configure(tx, id, { weight: 2 }),
  get: ({ accounts }, _, id) => accounts.get(id),
}

const refused: Readonly<Record<string, { readonly field: string; readonly run: Command }>> = {
  'a reason of a stop': { field: 'reason', run: ({ stops }, tx) => stops.add(tx, { scope: 'all', reason: withNul }) },
  'an actor of a stop': { field: 'actor', run: ({ stops }, tx) => stops.add(tx, { scope: 'all', actor: withNul }) },
  'no stop': { field: 'scope', run: ({ stops }, tx) => stops.add(tx, null as never) },
  'no stop to end': { field: 'scope', run: ({ stops }, tx) => stops.end(tx, undefined as never) },
  'a reason of a fence': { field: 'reason', run: (engine, tx) => engine.fence(tx, { reason: 'half \ud800' }) },
  'a deployment': { field: 'deployment', run: (engine, tx) => engine.adoptDatabase(tx, { deployment: withNul }) },
  'a move that is "no"': { field: 'moved', run: (engine, tx) => engine.adoptDatabase(tx, { moved: 'no' as never }) },
  'a name of a subscription': { field: 'name', run: (engine, tx) => engine.unsubscribe(tx, withNul) },
  'no name': { field: 'name', run: (engine, tx) => engine.unsubscribe(tx, undefined as never) },
  'a type': { field: 'types', run: (engine, tx) => engine.unsubscribe(tx, 'a', { types: [withNul as never] }) },
  'a discard that is "no"': {
    field: 'discard',
    run: (engine, tx) => engine.unsubscribe(tx, 'a', { discard: 'no' as never }),
  },
  'a discard that is a number': {
    field: 'discard',
    run: (engine, tx) => engine.unsubscribe(tx, 'a', { discard: 2 as never }),
  },
  'no list of types': { field: 'types', run: (engine, tx) => engine.unsubscribe(tx, 'a', { types: 'b' as never }) },
  'no request': { field: 'request', run: ({ transfers }, tx) => transfers.enqueue(tx, null as never) },
  'no requests': { field: 'requests', run: ({ transfers }, tx) => transfers.enqueueMany(tx, 'abc' as never) },
  'a hole': { field: '0', run: ({ transfers }, tx) => transfers.enqueueMany(tx, [undefined as never]) },
}

describe('what a host gives to a command', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 4 })
  const driver = pgDriver(pool)
  const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
  let host: pg.PoolClient
  beforeAll(async () => {
    host = await pool.connect()
  })
  afterAll(async () => {
    host.release()
    await pool.end()
  })

  /** Runs it in a transaction of the host, which must be as good as before. */
  async function inHost(run: Command): Promise<unknown> {
    await host.query('begin')
    const answer = await Promise.resolve()
      .then(() => run(engine, host))
      .catch((error: unknown) => error)
    const { rows } = await host.query(`select (select count(*) from outlay.account) + (select count(*) from outlay.stop)
      + (select count(*) from outlay.known_database) + (select count(*) from outlay.transfer) as written`)
    await host.query('rollback')
    expect(rows).toEqual([{ written: '0' }])
    return answer
  }

  for (const [name, run] of Object.entries(ofAccounts)) {
    it(`is refused by accounts.${name} when it is no id of an account, and nothing has happened`, async () => {
      for (const id of accountIds) {
        expect(await inHost((own, tx) => run(own, tx, id)), String(id)).toMatchObject({ field: 'accountId' })
      }
    })
  }
  for (const [name, { field, run }] of Object.entries(refused)) {
    it(`is refused by its field and nothing has happened: ${name}`, async () => {
      expect(await inHost(run)).toMatchObject({ name: 'OutlayError', field })
    })
  }

  it('is no transfer when it is no id of one', async () => {
    for (const id of [withNul, undefined, 'garbage'] as string[]) {
      expect(await inHost(({ transfers }) => transfers.get(id))).toBeUndefined()
      expect(await inHost(({ transfers }, tx) => transfers.release(tx, id))).toBe(false)
      for (const command of ['cancel', 'resubmit'] as const) {
        expect(await inHost(({ transfers }, tx) => transfers[command](tx, id))).toMatchObject({
          code: 'transfer_not_found',
        })
      }
    }
    expect(await inHost(({ transfers }) => transfers.getByKey(withNul, withNul))).toBeUndefined()
  })

  it('is refused at once where it would end a start, or every event', () => {
    const handler = async () => undefined
    for (const name of [withNul, '', undefined] as string[]) {
      expect(() => engine.subscribe(name, ['transfer.completed'], handler)).toThrow('The name of a subscription')
    }
    expect(() => engine.subscribe('a', 'transfer.completed' as never, handler)).toThrow('The types of "a"')
    expect(() => engine.subscribe('a', ['transfer.completed'], undefined as never)).toThrow('a function')
    for (const deployment of [withNul, '', 5] as string[]) {
      expect(() => postgres({ driver, deployment })).toThrow('The deployment is a name')
    }
  })
})
