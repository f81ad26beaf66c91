import { type EventType, OutlayError } from '@outlay/core'
import { drain, recordingLogger, waitUntil } from '@outlay/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { forgetAttendance } from '../../test/outbox.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { front } from './next-deliveries.ts'
import { startSubscriber } from './subscriber.ts'
import { createSubscriptionStore } from './subscriptions.ts'

describe('types of a subscription', async () => {
  const { pool, open, commit, enqueue } = await testHost({ max: 40 })
  const log: string[] = []

  beforeEach(() => {
    log.length = 0
  })

  /** A process of one release of the host. */
  function release(name: string, types: readonly EventType[]) {
    const engine = open()
    if (types.length > 0) engine.subscribe('books', types, async ({ type }) => void log.push(`${name} ${type}`))
    return engine
  }
  const storedTypes = async () =>
    (
      await pool.query<{ types: string[] }>(
        `select array(select t from unnest(types) t order by t) as types from outlay.subscription where name = 'books'`,
      )
    ).rows[0]?.types
  const isAttended = async () =>
    (await pool.query('select 1 from outlay.subscription where attended_at is not null')).rowCount === 1
  const pending = async () =>
    (await pool.query<{ type: string }>('select type from outlay.delivery order by sequence')).rows.map(
      (row) => row.type,
    )
  /** Leaves the events of one transfer to handle: enqueued, submitted, completed. */
  async function leaveEvents() {
    const all = release('first', ['transfer.enqueued', 'transfer.submitted', 'transfer.completed'])
    await all.start()
    await all.stop()
    const feeder = release('feeder', [])
    await feeder.start()
    await enqueue(feeder)
    await waitUntil(async () => (await feeder.backlog()).settled === 1)
    await feeder.stop()
    expect(await pending()).toEqual(['transfer.enqueued', 'transfer.submitted', 'transfer.completed'])
    return feeder
  }

  it('are those that its own handler asked for, in each of two releases at once', async () => {
    const earlier = release('earlier', ['transfer.completed'])
    const later = release('later', ['transfer.enqueued'])
    await later.start()
    await earlier.start()
    for (let round = 0; round < 10; round += 1) await enqueue(earlier)
    await drain(earlier)
    expect(new Set(log)).toEqual(new Set(['earlier transfer.completed', 'later transfer.enqueued']))
    expect(log).toHaveLength(20)
  })

  it('stay when an earlier release starts again, so that no event is lost', async () => {
    const later = release('later', ['transfer.enqueued', 'transfer.completed'])
    await later.start()
    await later.stop()
    const earlier = release('earlier', ['transfer.completed'])
    await earlier.start()
    expect(await storedTypes()).toEqual(['transfer.completed', 'transfer.enqueued'])
    await enqueue(earlier)
    await waitUntil(async () => (await earlier.backlog()).settled === 1)
    // The completion waits behind the enqueue, which is for the later release.
    expect(await pending()).toEqual(['transfer.enqueued', 'transfer.completed'])
    const again = release('again', ['transfer.enqueued', 'transfer.completed'])
    await again.start()
    await drain(again)
    expect(log.map((line) => line.split(' ')[1])).toEqual(['transfer.enqueued', 'transfer.completed'])
  })

  it('that no process attends defer later events of their transfers for a while and no longer', async () => {
    await leaveEvents()
    const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
    const subscription = {
      name: 'books',
      types: ['transfer.completed'] as const,
      together: false,
      batchSize: 1,
      timeoutMs: 10_000,
      handler: async (events: readonly { readonly type: string }[]) => void log.push(...events.map(({ type }) => type)),
    }
    const options = {
      limit: 1,
      holding: ['transfer.completed', 'transfer.submitted'],
      exceptAccounts: [],
      exceptTransfers: [],
      place: front,
      onLeased: () => true,
      onFailed: () => undefined,
      isCautious: false,
      signal: new AbortController().signal,
    }
    expect(await store.deliver(subscription, options)).toEqual({ kind: 'none' })
    // Deferred behind the earlier event, and due again when that is no longer waited for.
    expect(await store.deferBehind(subscription, { ...options, holding: null })).toMatchObject({ count: 1 })
    const shared = {
      store,
      subscription,
      logger: recordingLogger(),
      concurrency: 1,
      slowAfterMs: 5_000,
      pollIntervalMs: 20,
    }
    const subscriber = startSubscriber({ ...shared, holdMs: 300 })
    await waitUntil(() => log.length === 1)
    await subscriber.stop(1_000)
    expect(log).toEqual(['transfer.completed'])
    expect(await pending()).toEqual(['transfer.enqueued', 'transfer.submitted'])
  })

  it('that some process attends are known to all of them', async () => {
    const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
    await store.register('books', ['transfer.completed', 'transfer.failed'])
    await store.attend('books', ['transfer.failed'], 60_000)
    const { attended } = await store.attend('books', ['transfer.completed'], 60_000)
    expect([...attended].sort()).toEqual(['transfer.completed', 'transfer.failed'])
    expect((await store.attend('books', ['transfer.completed'], 0)).attended).toEqual(['transfer.completed'])
  })

  it('that wait behind an event are due with its acknowledgement, although they were deferred', async () => {
    await leaveEvents()
    const types = ['transfer.enqueued', 'transfer.submitted', 'transfer.completed'] as const
    const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
    const options = { holding: null, place: front }
    while ((await store.deferBehind({ name: 'books', types }, options)).count > 0);
    const due = await pool.query('select 1 from outlay.delivery where due_at <= clock_timestamp()')
    expect(due.rowCount).toBe(1)
    const all = release('all', types)
    await all.start()
    await drain(all)
    expect(log).toEqual(types.map((type) => `all ${type}`))
  })

  it('are removed on request, and not while events would be lost by that', async () => {
    const engine = await leaveEvents()
    await forgetAttendance(pool)
    const remove = (options?: Parameters<HostEngine['unsubscribe']>[2]) =>
      commit((tx) => engine.unsubscribe(tx, 'books', options))
    const refused = await commit(async (tx) => {
      const error = await engine.unsubscribe(tx, 'books').catch((thrown: unknown) => thrown)
      await tx.query('select 1')
      return error
    })
    expect(OutlayError.is(refused, 'events_undelivered')).toBe(true)
    expect(String(refused)).toContain('3 events')
    await expect(remove({ types: ['transfer.submitted'] })).rejects.toThrow('1 event ')
    expect(await remove({ types: ['transfer.failed'] })).toEqual({ removed: false, discarded: 0 })
    expect(await remove({ types: ['transfer.submitted'], discard: true })).toEqual({ removed: true, discarded: 1 })
    expect(await storedTypes()).toEqual(['transfer.completed', 'transfer.enqueued'])
    expect(await pending()).toEqual(['transfer.enqueued', 'transfer.completed'])
    await commit(async (tx) => {
      await engine.unsubscribe(tx, 'books', { discard: true })
      throw new Error('The host thinks better of it.')
    }).catch(() => undefined)
    expect(await pending()).toHaveLength(2)
    expect(await remove({ discard: true })).toEqual({ removed: true, discarded: 2 })
    expect(await storedTypes()).toBeUndefined()
    expect(await remove({ discard: true })).toEqual({ removed: false, discarded: 0 })
  })

  it('are not removed while a process attends them, nor for two minutes after that', async () => {
    const engine = release('old', ['transfer.completed'])
    const later = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
    await later.register('books', ['transfer.failed'])
    await engine.start()
    const remove = (options?: Parameters<HostEngine['unsubscribe']>[2]) =>
      commit((tx) => engine.unsubscribe(tx, 'books', options))
    const attended = (seconds: number) =>
      pool.query(
        `update outlay.subscription s set attended_at = now() - $1 * interval '1 second',
           attended = (select jsonb_object_agg(a.key, now() - $1 * interval '1 second') from jsonb_each_text(s.attended) a)`,
        [seconds],
      )
    await waitUntil(isAttended)
    await engine.stop()
    for (const options of [{}, { discard: true }, { types: ['transfer.completed', 'transfer.failed'] }])
      await expect(remove(options)).rejects.toMatchObject({ code: 'subscription_attended' })
    await attended(90)
    await expect(remove()).rejects.toThrow(/in (2\d|30) seconds at the earliest/)
    // No process attends that one.
    expect(await remove({ types: ['transfer.failed'] })).toEqual({ removed: true, discarded: 0 })
    // A clock that was ahead must not keep it for an hour.
    await attended(-3_600)
    await commit(async (tx) => {
      expect(await engine.unsubscribe(tx, 'books')).toEqual({ removed: true, discarded: 0 })
      throw new Error('The host thinks better of it.')
    }).catch((error: Error) => expect(error.message).toContain('better'))
    await attended(121)
    expect(await remove()).toEqual({ removed: true, discarded: 0 })
    expect(await storedTypes()).toBeUndefined()
  })

  it.each([
    ['all of them', 'delete from outlay.subscription'],
    ['one of them', `update outlay.subscription set types = '{transfer.completed}', attended = '{}'`],
  ])('that are gone while a process attends them are stored again, with a warning: %s', async (_, remove) => {
    const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
    const types = ['transfer.completed', 'transfer.failed'] as const
    await store.register('books', types)
    const logger = recordingLogger()
    const options = { together: false, batchSize: 1, timeoutMs: 10_000 }
    const subscription = { name: 'books', types, ...options, handler: async () => undefined }
    const shared = { store, subscription, logger, concurrency: 1, slowAfterMs: 5_000, pollIntervalMs: 20 }
    const subscriber = startSubscriber({ ...shared, holdMs: 50 })
    await waitUntil(isAttended)
    await pool.query(remove)
    await waitUntil(async () => (await storedTypes())?.length === 2)
    await subscriber.stop(1_000)
    expect(await isAttended()).toBe(true)
    expect(logger.entries.filter(({ message }) => message.includes('stores them again'))).toHaveLength(1)
  })

  it('and options that make no sense are refused before anything starts', () => {
    const engine = release('x', [])
    const subscribe = (types: readonly string[], options?: { batchSize?: number; timeoutMs?: number }) => () =>
      engine.subscribe('odd', types as readonly EventType[], async () => undefined, options)
    expect(subscribe([])).toThrow(/at least one type/)
    expect(subscribe(['transfer.complete'])).toThrow(/no type of event/)
    for (const value of [0, Number.NaN, 1.5, -1, Number.POSITIVE_INFINITY]) {
      expect(subscribe(['transfer.completed'], { batchSize: value })).toThrow(/batchSize/)
      expect(subscribe(['transfer.completed'], { timeoutMs: value })).toThrow(/timeoutMs/)
    }
  })
})
