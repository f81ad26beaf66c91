import { OutlayError, type WebhookVerifier } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'

/** A verifier of webhooks that read `<remote id> <status>`, or anything else that is not genuine. */
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
  const { pool, open, enqueue } = await testHost()

  function make() {
    const gateway = memoryGateway({ status: 'pending' })
    // The first poll of a payout by ACH is due after half a day.
    const engine = open({ gateway, webhooks: verifier })
    const receive = (body: string, accountId = 'acme') => engine.webhook({ body, headers: {} }, { accountId })
    return { gateway, engine, enqueue: () => enqueue(engine), receive }
  }
  const earlyObservations = async () =>
    (await pool.query('select remote_id from outlay.early_observation order by 1')).rows

  it('moves a transfer forward once, and never back', async () => {
    const { engine, enqueue, receive } = make()
    await engine.start()
    const { id } = await enqueue()
    await reach(engine, id, { stage: 'submitted' })
    const accepted = { status: 200, code: null }
    expect(await receive('remote-1 complete', 'other')).toEqual({ ...accepted, changed: 0 })
    expect(await receive('remote-1 complete')).toEqual({ ...accepted, changed: 1 })
    expect(await receive('remote-1 complete')).toEqual({ ...accepted, changed: 0 })
    expect(await receive('remote-1 processing')).toEqual({ ...accepted, changed: 0 })
    expect(await receive('ping')).toEqual({ ...accepted, changed: 0 })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
    await engine.stop()
  })

  it('is refused with the status to answer, and passes on what breaks', async () => {
    const { engine, receive } = make()
    expect(await receive('a forgery')).toEqual({ status: 401, code: 'webhook_signature_invalid', changed: 0 })
    expect(await receive('broken')).toEqual({ status: 400, code: 'unreadable_response', changed: 0 })
    await expect(receive('vault')).rejects.toThrow('the vault is sealed')
    const deaf = open()
    await expect(deaf.webhook({ body: '', headers: {} }, { accountId: 'acme' })).rejects.toThrow('webhooks')
    await engine.stop()
  })

  it('that is faster than the answer to the create makes a poll due as soon as the answer is here', async () => {
    const { gateway, engine, enqueue, receive } = make()
    const answered = Promise.withResolvers<undefined>()
    gateway.scriptAfter(() => answered.promise)
    await engine.start()
    const { id } = await enqueue()
    await waitUntil(() => gateway.transfers.size === 1)
    gateway.setStatus('remote-1', 'complete')
    expect(await receive('remote-1 complete')).toMatchObject({ status: 200, changed: 0 })
    expect(await receive('remote-1 complete')).toMatchObject({ status: 200, changed: 0 })
    expect(await earlyObservations()).toEqual([{ remote_id: 'remote-1' }])
    answered.resolve(undefined)
    await reach(engine, id, { stage: 'settled' })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete', attempt: 1 })
    expect(await earlyObservations()).toEqual([])
    await engine.stop()
  })

  it('about a transfer of others is forgotten after an hour', async () => {
    const { engine, receive } = make()
    await receive('unmatched complete')
    await receive('older complete')
    await pool.query(
      `update outlay.early_observation set seen_at = now() - interval '61 minutes' where remote_id = 'older'`,
    )
    await engine.start()
    await waitUntil(async () => (await earlyObservations()).length === 1)
    expect(await earlyObservations()).toEqual([{ remote_id: 'unmatched' }])
    await engine.stop()
  })
})
