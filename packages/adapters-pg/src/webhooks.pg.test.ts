import { createEngine, OutlayError, type WebhookVerifier } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import { pgDriver } from './drivers/pg.ts'

/** A verifier of webhooks that say `<remote id> <status>`, or anything else that is not genuine. */
const verifier: WebhookVerifier = {
  async verify({ body }) {
    const [remoteId, status] = String(body).split(' ')
    if (remoteId === 'broken') throw new OutlayError('unreadable_response', 'not JSON')
    if (remoteId === 'vault') throw new Error('the vault is sealed')
    if (remoteId === 'ping') return undefined
    if (remoteId === undefined || (status !== 'processing' && status !== 'complete')) {
      throw new OutlayError('webhook_signature_invalid', 'forged')
    }
    return { remoteId, status, failure: null }
  },
}

describe('a webhook', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  let pool: pg.Pool

  beforeAll(() => {
    pool = new pg.Pool({ connectionString: database.url, max: 20 })
  })
  afterEach(() => emptyOutbox(pool))
  afterAll(() => pool.end())

  function make() {
    const gateway = memoryGateway({ status: 'pending' })
    // By itself the first look at a payout by ACH comes after half a day.
    const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway, webhooks: verifier })
    const enqueue = () => pgDriver(pool).transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    const take = (body: string, accountId = 'acme') => engine.webhook({ body, headers: {} }, { accountId })
    return { gateway, engine, enqueue, take }
  }
  const sightings = async () => (await pool.query('select remote_id from outlay.sighting order by 1')).rows

  it('moves a transfer forward once, and never back', async () => {
    const { engine, enqueue, take } = make()
    await engine.start()
    const { id } = await enqueue()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'submitted')
    const taken = { status: 200, code: null }
    expect(await take('remote-1 complete', 'somebody-else')).toEqual({ ...taken, changed: 0 })
    expect(await take('remote-1 complete')).toEqual({ ...taken, changed: 1 })
    expect(await take('remote-1 complete')).toEqual({ ...taken, changed: 0 })
    expect(await take('remote-1 processing')).toEqual({ ...taken, changed: 0 })
    expect(await take('ping')).toEqual({ ...taken, changed: 0 })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
    await engine.stop()
  })

  it('is refused with the status to answer, and passes on what breaks', async () => {
    const { engine, take } = make()
    expect(await take('a forgery')).toEqual({ status: 401, code: 'webhook_signature_invalid', changed: 0 })
    expect(await take('broken')).toEqual({ status: 400, code: 'unreadable_response', changed: 0 })
    await expect(take('vault')).rejects.toThrow('the vault is sealed')
    const deaf = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
    await expect(deaf.webhook({ body: '', headers: {} }, { accountId: 'acme' })).rejects.toThrow('webhooks')
    await engine.stop()
  })

  it('that is faster than the answer to the create makes for a look as soon as the answer is here', async () => {
    const { gateway, engine, enqueue, take } = make()
    const answered = Promise.withResolvers<undefined>()
    gateway.scriptAfter(() => answered.promise)
    await engine.start()
    const { id } = await enqueue()
    await waitUntil(() => gateway.transfers.size === 1)
    gateway.setStatus('remote-1', 'complete')
    expect(await take('remote-1 complete')).toMatchObject({ status: 200, changed: 0 })
    expect(await take('remote-1 complete')).toMatchObject({ status: 200, changed: 0 })
    expect(await sightings()).toEqual([{ remote_id: 'remote-1' }])
    answered.resolve(undefined)
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'settled')
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete', attempt: 1 })
    expect(await sightings()).toEqual([])
    await engine.stop()
  })

  it('about a transfer of somebody else is forgotten after an hour', async () => {
    const { engine, take } = make()
    await take('never-heard-of complete')
    await take('older complete')
    await pool.query(`update outlay.sighting set seen_at = now() - interval '61 minutes' where remote_id = 'older'`)
    await engine.start()
    await waitUntil(async () => (await sightings()).length === 1)
    expect(await sightings()).toEqual([{ remote_id: 'never-heard-of' }])
    await engine.stop()
  })
})
