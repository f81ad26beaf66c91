import { createEngine, type Environment, type Gateway } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, forgetAttendance, migrateOutbox, samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import type { Driver } from './database/driver.ts'
import { pgDriver } from './drivers/pg.ts'

describe('a start', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 30 })
  const driver = pgDriver(pool)
  const engines: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  function open(
    names: { environment?: Environment; deployment?: string } = {},
    through: Driver<pg.PoolClient> = driver,
    subscription = 'books',
  ) {
    const { environment, deployment } = names
    const memory = memoryGateway()
    const gateway: Gateway = environment === undefined ? memory : { ...memory, environment }
    const engine = createEngine({ backend: postgres({ driver: through, deployment }), gateway })
    engine.subscribe(subscription, ['transfer.completed'], async () => undefined)
    engines.push(engine)
    return engine
  }
  type HostEngine = ReturnType<typeof open>
  const pay = async (engine: HostEngine) => {
    const { id } = await driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'settled')
  }
  /** Runs `work` while a host's transaction that has run `hold` stays open. */
  async function during(hold: (tx: pg.PoolClient) => Promise<unknown>, work: () => Promise<unknown>) {
    const host = await pool.connect()
    try {
      await host.query('begin')
      await hold(host)
      await work()
    } finally {
      await host.query('rollback')
      host.release()
    }
  }

  it('that is refused for its environment writes nothing, so that those which belong there go on', async () => {
    const live = open({ environment: 'mainnet' })
    await live.start()
    for (const other of [{ environment: 'testnet', deployment: 'staging' }, { deployment: 'laptop' }] as const) {
      const refused = open(other, driver, 'stray').start()
      await expect(refused).rejects.toMatchObject({ code: 'environment_mismatch', field: 'gateway.environment' })
    }
    expect((await live.sending()).knownDatabase).toMatchObject({ deployment: null, environment: 'mainnet' })
    const { rows } = await pool.query('select name from outlay.subscription')
    expect(rows).toEqual([{ name: 'books' }])
    await pay(live)
  })

  it('does not wait for a host that removes the subscription', async () => {
    const first = open()
    await first.start()
    await first.stop()
    await forgetAttendance(pool)
    await during(
      (tx) => first.unsubscribe(tx, 'books', { discard: true }),
      () => open().start(),
    )
  })

  it('does not wait for a host that fences before any engine has started, and sends when that is over', async () => {
    const engine = open()
    await during(
      (tx) => engine.fence(tx, { reason: 'not yet' }),
      () => engine.start(),
    )
    await pay(engine)
  })

  for (const step of ['its subscriptions', 'its queue']) {
    it(`that fails at ${step} listens to nothing any more`, async () => {
      const listeners = new Set<unknown>()
      let isChecked = false
      const fail = () => Promise.reject(new Error('the server is gone'))
      const failing: Driver<pg.PoolClient> = {
        ...driver,
        query(statement, values) {
          isChecked = true
          return step === 'its subscriptions' && statement.text.includes('register_subscription')
            ? fail()
            : driver.query(statement, values)
        },
        run: (text, values) => (isChecked ? fail() : driver.run(text, values)),
        onError(listener) {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
      }
      await expect(open({}, failing).start()).rejects.toThrow('the server is gone')
      expect([...listeners]).toEqual([])
    })
  }
})
