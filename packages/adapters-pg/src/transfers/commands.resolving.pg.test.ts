import type { Resolution, SubmitResult } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { countJobs, removeJobs } from '../../test/queue.ts'

const missing = '01J0000000000000000000000Z'

describe('a person who has asked the service', async () => {
  const { pool, open, commit, enqueue } = await testHost()

  function make() {
    const gateway = memoryGateway()
    const engine = open({ gateway: { keyLifetimeMs: 24 * 3_600_000, ...gateway } })
    const news: string[] = []
    const types = ['transfer.submitted', 'transfer.failed', 'transfer.completed'] as const
    engine.subscribe('news', [...types], async ({ type, transfer }) => {
      news.push(`${type} ${transfer.id}`)
    })
    return { engine, gateway, news }
  }
  const resolve = (engine: HostEngine, id: string, resolution: Resolution) =>
    commit((tx) => engine.transfers.resolve(tx, id, resolution))
  const read = async (id: string) => (await pool.query('select * from outlay.transfer where id = $1', [id])).rows[0]
  const attempts = async (id: string) =>
    (await pool.query('select * from outlay.attempt where transfer_id = $1 order by attempt', [id])).rows
  const count = async (table: string) => (await pool.query(`select count(*)::integer as n from ${table}`)).rows[0].n

  /** Blocks a transfer as a worker does that got no answer, or another reason. Its attempt is in the log, unanswered. */
  async function block(id: string, reason = 'outcome_unknown') {
    await pool.query(`select * from outlay.fetch_and_claim(1000, 'gone', '', null)`)
    await pool.query(
      `update outlay.transfer set stage = 'blocked', reason = $2, unknown_since = now() - interval '25 hours' where id = $1`,
      [id, reason],
    )
    await pool.query(`update outlay.attempt set claimed_at = now() - interval '25 hours' where transfer_id = $1`, [id])
    await removeJobs(pool, id)
  }

  /** An engine that has subscribed, and one blocked transfer of it. */
  async function makeBlocked(reason?: string) {
    const made = make()
    await made.engine.start()
    await made.engine.stop()
    const { id } = await enqueue(made.engine)
    await block(id, reason)
    return { id, ...made }
  }

  const reasons = ['outcome_unknown', 'key_expired', 'client_changed', 'idempotency_key_mismatch', 'reconcile']

  it.each(reasons)(
    'gives a transfer blocked with %s the id that the service has, and it is polled at once',
    async (reason) => {
      const { id, engine, gateway, news } = await makeBlocked(reason)
      const input = {
        accountId: 'acme',
        transferId: id,
        attempt: 1,
        idempotencyKey: 'k',
        request: (await read(id)).request,
      }
      await gateway.submit(input as never, { signal: new AbortController().signal } as never)
      const [remoteId = ''] = [...gateway.transfers.keys()]
      await resolve(engine, id, { remoteId, actor: 'ann', reason: 'ticket 4711' })
      expect(await read(id)).toMatchObject({
        ...{
          stage: 'submitted',
          status: 'pending',
          remote_id: remoteId,
          reason: null,
          unknown_since: null,
          attempt: 2,
        },
      })
      expect((await attempts(id))[1]).toMatchObject({
        ...{ worker: 'resolve by ann', outcome: 'resolved', answered_at: expect.any(Date) },
        detail: `A person said that it is ${remoteId}. Reason: ticket 4711`,
      })
      await engine.start()
      await drain(engine)
      expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete', remoteId })
      await waitUntil(() => news.length === 2)
      expect(news).toEqual([`transfer.submitted ${id}`, `transfer.completed ${id}`])
      expect(gateway.transfers.size).toBe(1)
    },
  )

  it.each(reasons)(
    'fails a transfer blocked with %s that was not paid, and its request is resubmitted',
    async (reason) => {
      const { id, engine, gateway, news } = await makeBlocked(reason)
      await expect(commit((tx) => engine.transfers.resubmit(tx, id))).rejects.toMatchObject({ code: 'conflict' })
      await resolve(engine, id, { notPaid: true, actor: 'ann', reason: 'no such payment' })
      expect(await engine.transfers.get(id)).toMatchObject({
        ...{ stage: 'settled', status: 'failed', remoteId: null, reason: null, attempt: 2 },
        failure: {
          type: 'not_paid',
          code: 'not_paid',
          retriable: false,
          detail: expect.stringContaining('no such payment'),
        },
      })
      expect(await read(id)).toMatchObject({ unknown_since: null, next_poll_at: null })
      expect((await attempts(id))[1]).toMatchObject({ worker: 'resolve by ann', outcome: 'resolved' })
      const again = await commit((tx) => engine.transfers.resubmit(tx, id))
      await engine.start()
      await drain(engine)
      expect(await engine.transfers.get(again.id)).toMatchObject({ status: 'complete' })
      expect(await engine.transfers.get(id)).toMatchObject({ status: 'failed' })
      await waitUntil(() => news.length === 3)
      expect(news).toContain(`transfer.failed ${id}`)
      expect(gateway.transfers.size).toBe(1)
    },
  )

  it.each<[string, Resolution]>([
    ['has it', { remoteId: 'r-1' }],
    ['does not', { notPaid: true }],
  ])('who said that the service %s is not overruled by a late answer, and nothing is sent', async (_, resolution) => {
    const { id, engine, gateway } = await makeBlocked()
    await resolve(engine, id, resolution)
    const before = await read(id)
    const late = {
      id,
      outcome: 'accepted',
      stage: 'submitted',
      status: 'processing',
      remote_id: 'late',
      events: ['transfer.submitted'],
    }
    for (const attempt of [1, 2]) {
      const { rows } = await pool.query('select result from outlay.settle($1, 2)', [
        JSON.stringify([{ ...late, attempt }]),
      ])
      expect(rows).toEqual([{ result: 'stale' }])
    }
    expect(await read(id)).toEqual(before)
    // The log has the late answer, and keeps the person's resolution.
    expect((await attempts(id)).map(({ outcome }) => outcome)).toEqual(['accepted', 'resolved'])
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(false)
    expect(await countJobs(pool)).toBe(0)
    expect(gateway.submissions).toHaveLength(0)
  })

  it('rolls back with the transaction of the host', async () => {
    const { id, engine } = await makeBlocked()
    const [before, events] = [await read(id), await count('outlay.event')]
    for (const resolution of [{ remoteId: 'r-1' }, { notPaid: true }] as const) {
      const failing = commit(async (tx) => {
        await engine.transfers.resolve(tx, id, resolution)
        throw new Error('not after all')
      })
      await expect(failing).rejects.toThrow('not after all')
    }
    expect([await read(id), await count('outlay.event')]).toEqual([before, events])
  })

  it('is refused for a transfer that is not blocked, and for one that is not there', async () => {
    const { engine } = make()
    const { id } = await enqueue(engine)
    for (const resolution of [{ remoteId: 'r-1' }, { notPaid: true }] as const) {
      await expect(resolve(engine, missing, resolution)).rejects.toMatchObject({ code: 'transfer_not_found' })
      for (const stage of ['queued', 'submitting', 'awaiting_funds', 'submitted']) {
        await pool.query('update outlay.transfer set stage = $2 where id = $1', [id, stage])
        const message = `The transfer ${id} is ${stage} and pending; only a blocked one is resolved, or a held one whose money may have moved.`
        await expect(resolve(engine, id, resolution)).rejects.toMatchObject({ code: 'conflict', message })
      }
    }
    await block(id)
    await resolve(engine, id, { notPaid: true })
    await expect(resolve(engine, id, { remoteId: 'r-1' })).rejects.toMatchObject({ code: 'conflict' })
    expect(await read(id)).toMatchObject({ stage: 'settled', remote_id: null })
  })

  it('cannot give a transfer the id of another one of the account, though two ask at once', async () => {
    const { engine } = make()
    const ids: string[] = []
    for (const account of ['acme', 'acme', 'other']) {
      const { id } = await enqueue(engine, { accountId: account })
      await block(id)
      ids.push(id)
    }
    const [first = '', second = '', foreign = ''] = ids
    const results = await Promise.allSettled([first, second].map((id) => resolve(engine, id, { remoteId: 'r-1' })))
    const refused = results.filter((one) => one.status === 'rejected')
    expect(refused.map(({ reason }) => [reason.code, reason.field])).toEqual([['conflict', 'remoteId']])
    const stages = await Promise.all([first, second].map(async (id) => (await read(id)).stage))
    expect(stages.sort()).toEqual(['blocked', 'submitted'])
    await resolve(engine, foreign, { remoteId: 'r-1' })
  })

  it('deletes the transfer that was found on a watched account, so that it is not adopted too', async () => {
    const { id, engine } = await makeBlocked()
    await pool.query(
      `insert into outlay.found_transfer (account_id, remote_id, automated, transfer) values ('acme', 'r-1', false, '{}')`,
    )
    await resolve(engine, id, { remoteId: 'r-1' })
    expect(await count('outlay.found_transfer')).toBe(0)
    expect(await count('outlay.transfer')).toBe(1)
  })

  it.each<[string, unknown, string, string]>([
    ['nothing', {}, 'missing_field', 'remoteId'],
    ['no object', null, 'invalid_request', ''],
    ['both', { remoteId: 'r-1', notPaid: true }, 'invalid_request', 'notPaid'],
    ['a negation', { notPaid: false }, 'invalid_request', 'notPaid'],
    ['an empty id', { remoteId: '' }, 'invalid_id', 'remoteId'],
    ['an id that is too long', { remoteId: 'x'.repeat(256) }, 'invalid_id', 'remoteId'],
    ['control characters', { remoteId: 'r\n1' }, 'invalid_id', 'remoteId'],
    ['half a character', { remoteId: 'r\ud800' }, 'invalid_id', 'remoteId'],
    ['a number', { remoteId: 7 }, 'invalid_id', 'remoteId'],
    ['a reason that cannot be stored', { remoteId: 'r-1', reason: 'a\0b' }, 'invalid_request', 'reason'],
    ['an actor that is none', { notPaid: true, actor: 7 }, 'invalid_request', 'actor'],
  ])('who says %s is refused before any SQL', async (_, resolution, code, field) => {
    const { engine } = make()
    const tx = { query: () => expect.unreachable('no SQL') } as unknown as pg.PoolClient
    const refused = { code, ...(field === '' ? {} : { field }) }
    await expect(engine.transfers.resolve(tx, missing, resolution as Resolution)).rejects.toMatchObject(refused)
    const broken = engine.transfers.resolve(tx, 'nonsense', { notPaid: true })
    await expect(broken).rejects.toMatchObject({ code: 'invalid_id', field: 'transferId' })
  })

  it('cannot say that nothing was paid while a request may still arrive', async () => {
    const { id, engine } = await makeBlocked()
    await pool.query('update outlay.attempt set claimed_at = now() where transfer_id = $1', [id])
    await expect(resolve(engine, id, { notPaid: true })).rejects.toMatchObject({ code: 'conflict', field: 'notPaid' })
    expect(await read(id)).toMatchObject({ stage: 'blocked', status: 'pending' })
    await pool.query(`update outlay.attempt set claimed_at = now() - interval '11 minutes' where transfer_id = $1`, [
      id,
    ])
    await resolve(engine, id, { notPaid: true })
    expect(await read(id)).toMatchObject({ stage: 'settled', status: 'failed' })
  })

  it.each<[string, SubmitResult]>([
    ['nobody waits for the answer any more', { outcome: 'unknown', detail: 'timed out' }],
    ['the key is in flight', { outcome: 'throttled', detail: 'in flight', httpStatus: 409 }],
    [
      'it was sent twice, and only the second is known not to have acted',
      { outcome: 'unauthorized', detail: 'denied', mayHaveActed: true },
    ],
    ['a page answered that may have passed it on', { outcome: 'unauthorized', detail: 'HTTP 403', httpStatus: 403 }],
  ])('cannot say that nothing was paid while a request may still arrive: %s', async (_, answer) => {
    const { id, engine, gateway } = await makeBlocked()
    await commit((tx) => engine.transfers.release(tx, id))
    gateway.script(() => answer)
    const patient = { ...gateway, keyLifetimeMs: 480 * 3_600_000 }
    const later = open({ gateway: patient })
    await later.start()
    await waitUntil(async () => (await read(id)).stage === 'blocked' && gateway.submissions.length === 1)
    await expect(resolve(engine, id, { notPaid: true })).rejects.toMatchObject({ code: 'conflict', field: 'notPaid' })
    await pool.query(`update outlay.attempt set claimed_at = now() - interval '11 minutes' where transfer_id = $1`, [
      id,
    ])
    await resolve(engine, id, { notPaid: true })
  })

  it("keeps a failed transfer whose id was another one's from being resubmitted: what became of it is not known", async () => {
    const { engine } = make()
    const [wrong, right] = [await enqueue(engine), await enqueue(engine)]
    await block(wrong.id)
    await block(right.id)
    await resolve(engine, wrong.id, { remoteId: 'r-1' })
    const occurredAt = new Date().toISOString()
    const failure = { type: 'returned', code: 'R03', detail: 'returned', occurredAt, retriable: false } as const
    await commit((tx) => engine.transfers.observe(tx, 'acme', [{ remoteId: 'r-1', status: 'failed', failure }]))
    expect(await engine.transfers.get(wrong.id)).toMatchObject({ stage: 'settled', status: 'failed' })
    await resolve(engine, right.id, { remoteId: 'r-1', insteadOf: wrong.id })
    await expect(commit((tx) => engine.transfers.resubmit(tx, wrong.id))).rejects.toMatchObject({ code: 'conflict' })
  })
})
