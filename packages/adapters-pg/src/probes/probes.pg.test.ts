import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { openTcpProxy } from '../../test/tcp-proxy.ts'
import { pgDriver } from '../drivers/pg.ts'
import { createProbes, type ProbesOptions } from './probes.ts'

const { database, pool, open, rows, commit, enqueue } = await testHost()

const probesOf = (engine: ReturnType<typeof open>, options: ProbesOptions = {}) => {
  const { fetch } = createProbes(engine, { cacheMs: 0, ...options })
  return async (path: string) => {
    const response = await fetch(new Request(`http://host${path}`))
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
}

it('an engine is ready from its start to its stop, and alive before and after', async () => {
  const engine = open()
  const probe = probesOf(engine)
  const ready = { ready: true, database: true, schema: true, workers: true, code: null }
  expect(await probe('/ready')).toEqual({ status: 503, body: { ...ready, ready: false, workers: false } })
  expect((await probe('/live')).status).toBe(200)
  await engine.start()
  expect(await probe('/ready')).toEqual({ status: 200, body: ready })
  const { loops } = engine.workers()
  const names = ['dispatch', 'heartbeat', 'settle', 'poll', 'watch', 'throttle', 'guard', 'sweep', 'watch clock']
  expect(loops.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  const stopping = engine.stop()
  expect((await probe('/ready')).status).toBe(503)
  await stopping
  expect([engine.workers(), (await probe('/live')).status]).toEqual([{ phase: 'stopped', loops: [] }, 200])
})

it('a table that is locked for too long is a hung loop, which turns again afterwards', async () => {
  const engine = open()
  await engine.start()
  const probe = probesOf(engine, { hungAfterMs: 100 })
  const hung = async () => {
    const { status, body } = await probe('/live')
    const names = (body['hung'] as { readonly name: string }[]).map(({ name }) => name)
    return status === 503 && names.includes('dispatch')
  }
  await commit(async (tx) => {
    await tx.query('lock table outlay.transfer, outlay.outbox in access exclusive mode')
    await waitUntil(hung)
    // Waiting for a lock is no fault of the database.
    expect((await probe('/ready')).body).toMatchObject({ database: true, workers: true })
  })
  await waitUntil(async () => (await probe('/live')).status === 200)
})

it('a handler may take its own time, and more than that is a hang', async () => {
  const engine = open({ gateway: memoryGateway() })
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  engine.subscribe('slow', ['transfer.completed'], async () => {
    begun.resolve()
    await end.promise
  })
  await engine.start({ subscriptionConcurrency: 1 })
  await enqueue(engine)
  await begun.promise
  const subscription = engine.workers().loops.find(({ name }) => name.startsWith('subscription slow'))
  expect(subscription?.hostMs).toBe(60_000)
  expect(subscription?.turnMs).toBeGreaterThan(0)
  end.resolve()
})

it('a database that is away makes the process not ready, and leaves it alive', async () => {
  const engine = open({ logger: recordingLogger() })
  await engine.start()
  const probe = probesOf(engine)
  const admin = new URL(database.url)
  const name = admin.pathname.slice(1)
  admin.pathname = '/postgres'
  const outside = new pg.Pool({ connectionString: admin.href, max: 1 })
  pool.on('error', () => {})
  try {
    await outside.query(`alter database "${name}" with allow_connections false`)
    await outside.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await waitUntil(async () => (await probe('/ready')).status === 503)
    expect((await probe('/ready')).body).toMatchObject({ database: false, schema: false, workers: true })
    expect((await probe('/live')).status).toBe(200)
  } finally {
    await outside.query(`alter database "${name}" with allow_connections true`)
    await outside.end()
  }
  await waitUntil(async () => (await probe('/ready')).status === 200)
})

it('a network that drops everything in silence makes the process not ready, and leaves it alive', async () => {
  const proxy = await openTcpProxy(database.url)
  const through = new pg.Pool({ connectionString: proxy.url, max: 30 })
  through.on('error', () => {})
  const engine = open({ driver: pgDriver(through), logger: recordingLogger() })
  try {
    await engine.start()
    const probe = probesOf(engine, { hungAfterMs: 1_000 })
    expect((await probe('/ready')).status).toBe(200)
    proxy.mode = 'keeps answers'
    await waitUntil(async () => {
      const { status, body } = await probe('/live')
      expect(status).toBe(200)
      return ((body['waiting'] ?? []) as readonly { readonly name: string }[]).some(({ name }) => name === 'dispatch')
    })
    expect(await probe('/ready')).toMatchObject({ status: 503, body: { database: false, workers: true } })
    proxy.mode = 'passes'
    proxy.end()
    await waitUntil(async () => (await probe('/ready')).status === 200)
    await waitUntil(async () => {
      const { status, body } = await probe('/live')
      return status === 200 && body['waiting'] === undefined
    })
  } finally {
    proxy.mode = 'passes'
    proxy.end()
    await engine.stop()
    await through.end()
    await proxy.close()
  }
})

it('a schema that lacks a migration is named by its code', async () => {
  const engine = open()
  await engine.start()
  const probe = probesOf(engine)
  const [first] = await rows('select name from outlay.migration order by name limit 1')
  await rows('delete from outlay.migration where name = $1', [first?.name])
  expect(await probe('/ready')).toMatchObject({
    status: 503,
    body: { database: true, schema: false, code: 'not_migrated' },
  })
})
