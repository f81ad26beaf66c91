import type { Environment, Gateway } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../test/host.ts'
import { forgetAttendance } from '../test/outbox.ts'
import type { Driver } from './database/driver.ts'

describe('a start', async () => {
  const { pool, driver, open, enqueue } = await testHost()

  function make(
    { environment, deployment }: { environment?: Environment; deployment?: string } = {},
    through: Driver<pg.PoolClient> = driver,
    subscription = 'books',
  ) {
    const memory = memoryGateway()
    const gateway: Gateway = environment === undefined ? memory : { ...memory, environment }
    const engine = open({ driver: through, deployment, gateway })
    engine.subscribe(subscription, ['transfer.completed'], async () => undefined)
    return engine
  }
  const pay = async (engine: HostEngine) => {
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'settled' })
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
    const live = make({ environment: 'mainnet' })
    await live.start()
    for (const other of [{ environment: 'testnet', deployment: 'staging' }, { deployment: 'laptop' }] as const) {
      const refused = make(other, driver, 'stray').start()
      await expect(refused).rejects.toMatchObject({ code: 'environment_mismatch', field: 'gateway.environment' })
    }
    expect((await live.sending()).knownDatabase).toMatchObject({ deployment: null, environment: 'mainnet' })
    const { rows } = await pool.query('select name from outlay.subscription')
    expect(rows).toEqual([{ name: 'books' }])
    await pay(live)
  })

  it('does not wait for a host that removes the subscription', async () => {
    const first = make()
    await first.start()
    await first.stop()
    await forgetAttendance(pool)
    await during(
      (tx) => first.unsubscribe(tx, 'books', { discard: true }),
      () => make().start(),
    )
  })

  it('does not wait for a host that fences before any engine has started, and sends when that is over', async () => {
    const engine = make()
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
      await expect(make({}, failing).start()).rejects.toThrow('the server is gone')
      expect([...listeners]).toEqual([])
    })
  }
})
