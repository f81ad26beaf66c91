import type { EventHandler } from '@outlay/core'
import { drain, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { testHost } from '../../test/host.ts'
import { pgDriver } from '../drivers/pg.ts'

type Handler = EventHandler<pg.PoolClient>

const never = new Promise<never>(() => undefined)
/** For handlers that hang at first: in the same time the second run has to succeed. */
const shortMs = 3_000

describe('a handler', async () => {
  const { database, pool, open, enqueueMany } = await testHost({ max: 40 })

  beforeAll(async () => {
    await pool.query('create table effect (transfer_id text, sequence integer)')
  })
  beforeEach(() => pool.query('truncate effect'))

  const write: Handler = async ({ transferId, sequence }, tx) => {
    await tx.query('insert into effect (transfer_id, sequence) values ($1, $2)', [transferId, sequence])
  }
  const effects = async () => (await pool.query('select transfer_id from effect')).rows.map((row) => row.transfer_id)
  const failures = async () =>
    (await pool.query<{ failures: number; last_error: string }>('select failures, last_error from outlay.delivery'))
      .rows
  /** Runs one event through a handler that fails at first, and returns what was recorded about that. */
  async function failOnce(first: Handler, timeoutMs = 60_000) {
    const engine = open()
    let runs = 0
    const handler: Handler = (event, tx, context) => {
      runs += 1
      return runs === 1 ? first(event, tx, context) : write(event, tx, context)
    }
    engine.subscribe('books', ['transfer.completed'], handler, { timeoutMs })
    await engine.start({ subscriptionConcurrency: 1 })
    const [transfer] = await enqueueMany(engine, 1, 'acme')
    await waitUntil(async () => (await failures()).some((row) => row.failures === 1))
    const [noted] = await failures()
    await drain(engine)
    expect(await effects()).toEqual([transfer?.id])
    expect(runs).toBe(2)
    return noted?.last_error
  }

  it('that never ends counts as failed when its time is over, and is notified', async () => {
    let reason: unknown
    const error = await failOnce((_, __, { signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return never
    }, shortMs)
    expect(error).toBe(`Error: The handler did not end within ${shortMs} ms.`)
    expect(reason).toMatchObject({ message: `The handler did not end within ${shortMs} ms.` })
  })

  it('that hangs in a statement counts as failed, and the server drops the statement', async () => {
    await failOnce(async (event, tx, context) => {
      await write(event, tx, context)
      await tx.query('select pg_sleep(3600)')
    }, shortMs)
    const { rows } = await pool.query(
      `select 1 from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()`,
    )
    expect(rows).toEqual([])
  })

  it.each<[string, Handler, string, number?]>([
    [
      'that throws at once',
      () => {
        throw new Error('at once')
      },
      'Error: at once',
    ],
    ['that answers without a promise', (() => undefined) as unknown as Handler, 'answered without a promise'],
    ['that rejects with nothing', () => Promise.reject(undefined), 'undefined'],
    [
      'whose code rolls its transaction back',
      async (_, tx) => void (await tx.query('rollback')),
      'ended the transaction',
    ],
    [
      'whose code begins another transaction',
      async (event, tx, context) => {
        await write(event, tx, context)
        await tx.query('rollback')
        await tx.query('begin')
      },
      'ended the transaction',
    ],
    ['whose code commits its transaction', async (_, tx) => void (await tx.query('commit')), 'ended the transaction'],
    [
      'that goes on after an error of Postgres',
      async (_, tx) => void (await tx.query('select 1/0').catch(() => undefined)),
      'current transaction is aborted',
    ],
    [
      'whose connection the server ends',
      async (_, tx) => {
        await tx.query("set local idle_in_transaction_session_timeout = '50ms'")
        await new Promise((resolve) => tx.once('end', resolve))
      },
      'Error',
    ],
    [
      'whose connection the server ends, and that hangs',
      async (_, tx) => {
        await tx.query("set local idle_in_transaction_session_timeout = '50ms'")
        await never
      },
      'The handler did not end within',
      shortMs,
    ],
  ])('%s counts as failed, and its event is handled again', async (_, handler, error, timeoutMs) => {
    expect(await failOnce(handler, timeoutMs)).toContain(error)
  })

  it('that hangs keeps no other event waiting, on whichever loop it hangs', async () => {
    const engine = open()
    let hanging = 0
    engine.subscribe('books', ['transfer.completed'], (event, tx, context) => {
      if (event.accountId !== 'bad') return write(event, tx, context)
      hanging += 1
      return never
    })
    await engine.start({ subscriptionConcurrency: 4, stopTimeoutMs: 100 })
    for (let round = 1; round <= 3; round += 1) {
      await enqueueMany(engine, 1, 'bad')
      await waitUntil(async () => hanging === round)
      await enqueueMany(engine, 3, 'good')
      await waitUntil(async () => (await effects()).length === 3 * round)
    }
  })

  it('that hangs keeps no other loop from being woken, when nothing is polled', async () => {
    const engine = open()
    let hanging = 0
    engine.subscribe('books', ['transfer.completed'], (event, tx, context) => {
      if (event.accountId !== 'bad') return write(event, tx, context)
      hanging += 1
      return never
    })
    await engine.start({ subscriptionConcurrency: 3, pollIntervalMs: 3_600_000, stopTimeoutMs: 100 })
    for (let round = 1; round <= 2; round += 1) {
      await enqueueMany(engine, 1, 'bad')
      await waitUntil(async () => hanging === round)
    }
    await enqueueMany(engine, 1, 'good')
    await waitUntil(async () => (await effects()).length === 1)
  })

  it('that hangs does not keep the engine from stopping, and has not failed by that', async () => {
    const engine = open()
    let hanging = 0
    engine.subscribe('books', ['transfer.completed'], () => {
      hanging += 1
      return never
    })
    await engine.start({ stopTimeoutMs: 200 })
    await enqueueMany(engine, 1, 'acme')
    await waitUntil(async () => hanging === 1)
    await engine.stop()
    expect(await failures()).toMatchObject([{ failures: 0 }])
    const again = open()
    again.subscribe('books', ['transfer.completed'], write)
    await again.start()
    await drain(again)
    expect(await effects()).toHaveLength(1)
  })

  it('of an account that hangs every time leaves loops to the events of others', async () => {
    const engine = open()
    let hung = 0
    engine.subscribe(
      'books',
      ['transfer.enqueued'],
      (event, tx, context) => {
        if (event.accountId !== 'bad') return write(event, tx, context)
        hung += 1
        return never
      },
      { timeoutMs: 1_000 },
    )
    await enqueueMany(engine, 1, 'warm')
    await engine.start({ subscriptionConcurrency: 2 })
    await drain(engine)
    // So many that they fill every window of due events: one after the other they would take twenty minutes.
    await enqueueMany(engine, 2_400, 'bad')
    await waitUntil(async () => hung >= 2)
    await enqueueMany(engine, 20, 'good')
    await waitUntil(async () => (await effects()).length >= 20, { timeoutMs: 60_000 })
    expect(hung).toBeLessThan(200)
  })

  it('that holds the only connection of a pool loses it all the same', async () => {
    const engine = open()
    engine.subscribe('books', ['transfer.completed'], write)
    await engine.start()
    await engine.stop()
    await enqueueMany(engine, 1, 'acme')
    const feeder = open()
    await feeder.start()
    await waitUntil(async () => (await feeder.backlog()).settled === 1)
    await feeder.stop()
    const one = new pg.Pool({ connectionString: database.url, max: 1 })
    onTestFinished(() => one.end())
    const poor = open({ driver: pgDriver(one) })
    let runs = 0
    poor.subscribe(
      'books',
      ['transfer.completed'],
      (event, tx, context) => {
        runs += 1
        return runs === 1 ? never : write(event, tx, context)
      },
      { timeoutMs: 200 },
    )
    await poor.start({ listen: false })
    await waitUntil(async () => (await effects()).length === 1, { timeoutMs: 60_000 })
  })
})
