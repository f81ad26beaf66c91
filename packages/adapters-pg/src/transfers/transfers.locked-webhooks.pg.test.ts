import { createEngine, type WebhookVerifier } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 10 })
const host = new pg.Pool({ connectionString: database.url, max: 1 })
afterAll(() => Promise.all([pool.end(), host.end()]))

/** Reads webhooks of `<remote id> <status>`. */
const webhooks: WebhookVerifier = {
  async verify({ body }) {
    const [remoteId = '', status = ''] = String(body).split(' ')
    return { remoteId, status: status as 'processing', failure: null }
  },
}

// A webhook that waited for the lock of a host's open transaction kept a connection meanwhile, so as many of them as the pool has
// connections stopped everything of every account.
it('webhooks about transfers that a host has locked leave the connections to others, and come again', async () => {
  const gateway = memoryGateway({ status: 'pending' })
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway, webhooks })
  const payouts = Array.from({ length: 12 }, () => samplePayout('slow'))
  const enqueued = await pgDriver(pool).transaction((tx) => engine.transfers.enqueueMany(tx, payouts))
  await engine.start({ concurrency: 4 })
  const remoteIds = async () => {
    const all = await Promise.all(enqueued.map(({ id }) => engine.transfers.get(id)))
    return all.flatMap((one) => one?.remoteId ?? [])
  }
  await waitUntil(async () => (await remoteIds()).length === 12)
  const ids = await remoteIds()
  const receiveAll = () =>
    Promise.all(ids.map((id) => engine.webhook({ body: `${id} processing`, headers: {} }, { accountId: 'slow' })))
  const open = await host.connect()
  try {
    await open.query('begin')
    await open.query(`select 1 from outlay.transfer where account_id = 'slow' for update`)
    const received = receiveAll()
    await pgDriver(pool).transaction((tx) => engine.transfers.enqueue(tx, samplePayout('well')))
    await waitUntil(() => gateway.submissions.some(({ accountId }) => accountId === 'well'))
    expect(await received).toEqual(ids.map(() => ({ status: 503, code: 'conflict', changed: 0 })))
  } finally {
    await open.query('rollback')
    open.release()
  }
  expect(await receiveAll()).toEqual(ids.map(() => ({ status: 200, code: null, changed: 1 })))
  await engine.stop()
}, 120_000)
