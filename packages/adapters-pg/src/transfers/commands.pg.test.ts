import type { SubmitResult } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { countJobs } from '../../test/queue.ts'

describe('a command in the transaction of the host', async () => {
  const { pool, open, commit, enqueue } = await testHost()

  function make(gateway = memoryGateway()) {
    const engine = open({ gateway })
    return { engine, gateway }
  }
  const jobs = () => countJobs(pool)

  it('cancels a transfer that was not sent, and rolls back with the transaction', async () => {
    const { engine, gateway } = make()
    const { id } = await enqueue(engine)
    await commit(async (tx) => {
      await engine.transfers.cancel(tx, id)
      throw new Error('not after all')
    }).catch(() => undefined)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued', status: 'pending' })
    expect(await jobs()).toBe(1)
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled' })
    expect(await jobs()).toBe(0)
    await engine.start()
    await drain(engine)
    expect(gateway.submissions).toHaveLength(0)
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
  })

  it('says to whoever enqueues with the key of a canceled transfer that nothing is paid, and how to pay again', async () => {
    const { engine, gateway } = make()
    const { id, request, accountId } = await enqueue(engine, { idempotencyKey: 'k' })
    await commit((tx) => engine.transfers.cancel(tx, id))
    const order = { ...request, accountId, idempotencyKey: 'k' } as Parameters<typeof engine.transfers.enqueue>[1]
    const same = await commit((tx) => engine.transfers.enqueue(tx, order))
    expect(same).toMatchObject({
      id,
      reused: true,
      status: 'canceled',
      notice: expect.stringContaining('was canceled'),
    })
    const [many] = await commit((tx) => engine.transfers.enqueueMany(tx, [order]))
    expect(many?.notice).toBe(same.notice)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect(again).toMatchObject({ reused: false, stage: 'queued' })
    expect(again.notice).toBeUndefined()
    await engine.start()
    await drain(engine)
    expect(gateway.submissions).toMatchObject([{ transferId: again.id }])
  })

  it('cancels a transfer that awaits funds, and notifies its subscribers', async () => {
    const { engine, gateway } = make()
    gateway.script(() => ({ outcome: 'insufficient_balance', detail: 'short' }))
    const events: string[] = []
    engine.subscribe('log', ['transfer.canceled'], async (event) => void events.push(event.type))
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'awaiting_funds' })
    // The next attempt comes at a random moment within the backoff, and a transfer that is being sent is not canceled.
    await engine.stop()
    await commit((tx) => engine.transfers.cancel(tx, id))
    await engine.start()
    await waitUntil(() => events.length > 0)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'canceled' })
  })

  it('does not cancel a transfer whose money may have moved', async () => {
    const { engine, gateway } = make()
    gateway.scriptAfter(() => ({ outcome: 'unknown', detail: 'reset', retryAfterMs: 600_000 }))
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { reason: 'outcome_unknown' })
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    const missing = '01J0000000000000000000000Z'
    await expect(commit((tx) => engine.transfers.cancel(tx, missing))).rejects.toMatchObject({
      code: 'transfer_not_found',
    })
  })

  it('does not cancel a transfer whose key the service has for another request, released or not', async () => {
    const { engine, gateway } = make()
    gateway.script(() => ({ outcome: 'key_mismatch', detail: 'another payload' }))
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'blocked' })
    await engine.stop()
    const refused = { code: 'transfer_not_cancelable', message: expect.stringContaining('its money may have moved') }
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject(refused)
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(true)
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject(refused)
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'pending' })
  })

  it('does not send a key that the service has for another request as another client, and lets it not expire', async () => {
    let client = 'first'
    const { engine, gateway } = make({ ...memoryGateway(), identify: async () => client })
    let isOther = true
    gateway.script(() => (isOther ? { outcome: 'key_mismatch', detail: 'another payload' } : undefined))
    await engine.start()
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { id } = await enqueue(engine, { expiresAt })
    await reach(engine, id, { stage: 'blocked' })
    client = 'second'
    isOther = false
    await pool.query('update outlay.transfer set expires_at = now() where id = $1', [id])
    await commit((tx) => engine.transfers.release(tx, id))
    await waitUntil(async () => ((await engine.transfers.get(id))?.attempt ?? 0) > 1)
    await waitUntil(async () => (await engine.transfers.get(id))?.stage !== 'submitting')
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'pending', reason: 'client_changed' })
    expect(gateway.transfers.size).toBe(0)
  })

  it('enqueues a failed transfer again once, however many ask for it at once, and under no other key', async () => {
    const { engine, gateway } = make()
    const failing = new Set<string>()
    gateway.script(({ transferId }) =>
      failing.has(transferId) ? { outcome: 'rejected', code: 'closed', detail: 'no' } : undefined,
    )
    const resubmit = (id: string, idempotencyKey?: string) =>
      commit((tx) => engine.transfers.resubmit(tx, id, { idempotencyKey }))
    const fail = async (id: string) => {
      failing.add(id)
      await engine.start()
      await drain(engine)
      await engine.stop()
    }
    const { id } = await enqueue(engine, { idempotencyKey: 'k'.repeat(255) })
    await fail(id)
    const asked = await Promise.all(Array.from({ length: 5 }, () => resubmit(id)))
    expect(new Set(asked.map((one) => one.id)).size).toBe(1)
    expect(asked.filter((one) => !one.reused)).toHaveLength(1)
    // The second of a failed second is a third.
    const second = asked[0]?.id ?? ''
    await fail(second)
    const [third, same] = [await resubmit(second), await resubmit(second)]
    expect(same).toMatchObject({ id: third.id, reused: true })
    expect((await resubmit(id)).id).toBe(second)
    await expect(resubmit(id, 'another-on-purpose')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(second),
    })
    const mistyped = { idempotencykey: 'a-third' } as object
    await expect(commit((tx) => engine.transfers.resubmit(tx, id, mistyped))).rejects.toMatchObject({
      ...{ code: 'invalid_request', field: 'idempotencykey' },
    })
    expect(gateway.transfers.size).toBe(0)
  })

  it('enqueues the request of a failed transfer again under a new key, and of no other', async () => {
    const { engine, gateway } = make()
    const { id } = await enqueue(engine, { idempotencyKey: 'first' })
    gateway.script(({ attempt, transferId }) =>
      transferId === id && attempt === 1 ? { outcome: 'rejected', code: 'closed', detail: 'no' } : undefined,
    )
    await engine.start()
    await drain(engine)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect(again).toMatchObject({ reused: false, accountId: 'acme', idempotencyKey: 'first:resubmit' })
    await drain(engine)
    expect(await engine.transfers.get(again.id)).toMatchObject({ status: 'complete' })
    await expect(commit((tx) => engine.transfers.resubmit(tx, again.id))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('cancels a transfer and enqueues its request again in one transaction', async () => {
    const { engine } = make()
    const { id } = await enqueue(engine)
    const again = await commit(async (tx) => {
      await engine.transfers.cancel(tx, id)
      return engine.transfers.resubmit(tx, id, { idempotencyKey: 'again' })
    })
    await engine.start()
    await drain(engine)
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'canceled' })
    expect(await engine.transfers.getByKey('acme', 'again')).toMatchObject({ id: again.id, status: 'complete' })
  })

  it('pauses one account and leaves the others alone, until it is resumed', async () => {
    const { engine, gateway } = make()
    expect(await commit((tx) => engine.accounts.pause(tx, 'acme'))).toBe(true)
    expect(await commit((tx) => engine.accounts.pause(tx, 'acme'))).toBe(false)
    for (let index = 0; index < 5; index += 1) await enqueue(engine)
    await enqueue(engine, { accountId: 'other' })
    await engine.start()
    await waitUntil(async () => (await engine.backlog()).settled === 1)
    await waitUntil(async () => {
      const { rows } = await pool.query(`select 1 from outlay.transfer where reason = 'account_paused'`)
      return rows.length === 5
    })
    expect(gateway.submissions.map((submission) => submission.accountId)).toEqual(['other'])
    expect(await commit((tx) => engine.accounts.resume(tx, 'acme'))).toBe(true)
    expect(await commit((tx) => engine.accounts.resume(tx, 'acme'))).toBe(false)
    await drain(engine)
    expect(gateway.transfers.size).toBe(6)
  })

  it('says whose pause it is, and resumes from the one that was seen', async () => {
    const engine = open()
    const of = async () => (await engine.accounts.get('acme')).pause
    const resume = (since?: string) =>
      commit((tx) => engine.accounts.resume(tx, 'acme', { actor: 'olga', reason: 'done', since }))
    expect(await of()).toBeNull()
    await commit((tx) => engine.accounts.pause(tx, 'acme', { actor: 'ada', reason: 'an audit' }))
    const first = await of()
    expect(first).toEqual({ since: expect.any(String), actor: 'ada', reason: 'an audit' })
    // A second person changes nothing, and the audit has who it was.
    expect(await commit((tx) => engine.accounts.pause(tx, 'acme', { actor: 'bert', reason: 'fraud' }))).toBe(false)
    expect(await of()).toEqual(first)
    const [last] = await engine.audit.list({ command: 'accounts.pause', limit: 1 })
    expect(last).toMatchObject({ actor: 'bert', before: first, after: { accountId: 'acme', changed: false } })
    expect(await resume(first?.since ?? '')).toBe(true)
    expect(await of()).toBeNull()

    await commit((tx) => engine.accounts.pause(tx, 'acme', { actor: 'bert', reason: 'fraud' }))
    await expect(resume(first?.since ?? '')).rejects.toMatchObject({
      ...{ code: 'conflict', field: 'since', message: expect.stringContaining('by bert (fraud)') },
    })
    expect(await engine.accounts.get('acme')).toMatchObject({ paused: true, pause: { actor: 'bert' } })
    await expect(resume('soon')).rejects.toMatchObject({ code: 'invalid_request', field: 'since' })
    expect(await resume()).toBe(true)
    expect(await resume(first?.since ?? '')).toBe(false)
    // Code of an earlier release wrote no time.
    await pool.query(`update outlay.account set paused = true where account_id = 'acme'`)
    expect(await of()).toEqual({ since: null, actor: null, reason: null })
    expect(await resume()).toBe(true)
  })

  it('releases a transfer that a claim deferred for a pause just as that ended', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.pause(tx, 'acme'))
    const { id } = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { reason: 'account_paused' })
    // A resume that does not see what the claim writes at that moment.
    await pool.query(`update outlay.account set paused = false where account_id = 'acme'`)
    expect(await drain(engine)).toMatchObject({ settled: 1 })
    expect(gateway.transfers.size).toBe(1)
  })

  it('keeps a scheduled transfer until its time', async () => {
    const { engine, gateway } = make()
    const late = await enqueue(engine, { notBefore: new Date(Date.now() + 3_600_000) })
    const soon = await enqueue(engine, { notBefore: new Date(Date.now() + 700).toISOString() })
    await engine.start()
    await reach(engine, soon.id, { stage: 'settled' })
    expect(gateway.submissions).toHaveLength(1)
    const waiting = await engine.transfers.get(late.id)
    expect(waiting?.stage).toBe('queued')
    expect(Date.parse(waiting?.notBefore ?? '')).toBe(Date.parse(late.notBefore ?? ''))
    await expect(enqueue(engine, { notBefore: 'tomorrow' })).rejects.toMatchObject({ field: 'notBefore' })
  })

  it('fails a transfer that was not sent before it expired, and carries through one that may have been', async () => {
    const { engine, gateway } = make()
    const expired = await enqueue(engine, { expiresAt: new Date(Date.now() - 1) })
    const answer = Promise.withResolvers<SubmitResult>()
    gateway.scriptAfter(({ attempt }) => (attempt === 1 ? answer.promise : undefined))
    const sent = await enqueue(engine, { expiresAt: new Date(Date.now() + 3_600_000) })
    await engine.start()
    await waitUntil(() => gateway.submissions.length === 1)
    // It expires while its first request is on its way.
    await pool.query(`update outlay.transfer set expires_at = now() - interval '1 s' where id = $1`, [sent.id])
    answer.resolve({ outcome: 'unknown', detail: 'reset' })
    await reach(engine, sent.id, { stage: 'settled' })
    expect(await engine.transfers.get(sent.id)).toMatchObject({ status: 'complete', attempt: 2 })
    expect(await engine.transfers.get(expired.id)).toMatchObject({ status: 'failed', failure: { type: 'expired' } })
    expect(gateway.transfers.size).toBe(1)
  })
})
