import type { Gateway, SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { countJobs } from '../../test/queue.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'

const unknown: SubmitResult = { outcome: 'unknown', detail: 'The answer was lost.' }

describe('the answer to a submission that was abandoned', async () => {
  const { database, pool, driver, open, commit, outcomes, rows } = await testHost()

  /** A payout whose first request hangs until `answer` gives it an answer, by default that of the service, and what was logged. */
  async function abandon(
    options: { readonly pool?: pg.Pool; readonly next?: (gateway: Gateway) => Gateway['submit'] } = {},
  ) {
    const service = memoryGateway({ status: 'processing' })
    const logger = recordingLogger()
    const hanging = Promise.withResolvers<unknown>()
    let calls = 0
    let accepted: SubmitResult = unknown
    const gateway: Gateway = {
      get: (...read) => service.get(...read),
      async submit(submission, sending) {
        calls += 1
        if (calls > 1) return options.next?.(service)(submission, sending) ?? unknown
        accepted = await service.submit(submission, sending)
        return (await hanging.promise) as SubmitResult
      },
    }
    const on = options.pool === undefined ? {} : { driver: pgDriver(options.pool) }
    const engine = open({ gateway, timeouts: { submitMs: 50 }, fraction: 0.05, runtime: { logger }, ...on })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await engine.start({ stopTimeoutMs: 0 })
    await waitUntil(async () => (await outcomes(id)).some(({ outcome }) => outcome === 'unknown'))
    return {
      ...{ engine, id, logger },
      answer: (value: unknown = accepted) => hanging.resolve(value),
      logged: (text: string) => waitUntil(() => logger.entries.find(({ message }) => message.includes(text))),
      acceptances: async () => (await outcomes(id)).filter(({ outcome }) => outcome === 'accepted').length,
    }
  }

  it('is recorded when it is an acceptance, and its transfer is sent no more', async () => {
    const { engine, id, answer, acceptances, logged } = await abandon()
    answer()
    expect(await reach(engine, id, { stage: 'submitted' })).toMatchObject({ remoteId: 'remote-1' })
    expect((await logged('it is recorded')).fields).toMatchObject({ transferId: id, remoteId: 'remote-1' })
    expect(await acceptances()).toBe(1)
    expect(await countJobs(pool)).toBe(0)
  })

  it('is recorded once when a later attempt got the same one', async () => {
    const { engine, id, answer, acceptances, logged } = await abandon({ next: (service) => service.submit })
    await reach(engine, id, { stage: 'submitted' })
    answer()
    await logged('it is recorded')
    expect(await acceptances()).toBe(1)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })

  it('is evidence against the end of a transfer that a person ended meanwhile', async () => {
    const { engine, id, answer, logged } = await abandon()
    await rows(`update outlay.transfer set unknown_since = now() - interval '25 hours'`)
    await reach(engine, id, { stage: 'blocked' })
    await rows(
      `update outlay.attempt set claimed_at = claimed_at - interval '11 minutes', answered_at = answered_at - interval '11 minutes'`,
    )
    await commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))
    answer()
    await logged('it is recorded')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'failed' })
    expect((await inspect({ driver }).health()).transfers.acceptedLate.count).toBe(1)
    await expect(commit((tx) => engine.transfers.resubmit(tx, id))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is recorded when a host lets go of the transfer', async () => {
    const { engine, id, answer, logged } = await abandon()
    await rows(`update outlay.transfer set unknown_since = now() - interval '25 hours'`)
    await reach(engine, id, { stage: 'blocked' })
    await commit(async (tx) => {
      await tx.query('select 1 from outlay.transfer for update')
      answer()
      await tx.query('select pg_sleep(0.5)')
    })
    await logged('it is recorded')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })

  it('is recorded after the engine has stopped', async () => {
    const { engine, id, answer } = await abandon()
    await engine.stop()
    answer()
    expect(await reach(engine, id, { stage: 'submitted' })).toMatchObject({ remoteId: 'remote-1' })
  })

  it('is logged with its id when the pool is closed by then', async () => {
    const closed = new pg.Pool({ connectionString: database.url })
    const { engine, id, answer, logged } = await abandon({ pool: closed })
    await engine.stop()
    await closed.end()
    answer()
    expect(await logged('could not be recorded')).toMatchObject({ fields: { transferId: id, remoteId: 'remote-1' } })
    expect((await pool.query('select remote_id from outlay.transfer')).rows).toEqual([{ remote_id: null }])
  })

  it.each([
    [{ outcome: 'rejected', code: 'no', detail: 'secret' }, 'rejected'],
    [{ outcome: 'accepted', remoteId: 5n }, 'unknown'],
    [{ outcome: 'accepted' }, 'unknown'],
    ['nonsense', 'unknown'],
  ])('is only logged, without its content, when it is %o', async (value, outcome) => {
    const { engine, id, answer, logged, acceptances } = await abandon()
    answer(value)
    const { fields } = await logged('its result is ignored')
    expect(fields).toEqual({ call: 'submit', transferId: id, attempt: 1, outcome })
    expect(await acceptances()).toBe(0)
    expect((await engine.transfers.get(id))?.remoteId).toBeNull()
  })
})
