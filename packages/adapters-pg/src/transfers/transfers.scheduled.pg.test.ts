import { Id } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { deferJobs, fetchJobs, loseJobs, readJobs, removeJobs } from '../../test/queue.ts'
import { createAttemptStore } from '../dispatch/attempts.ts'
import { createCredentialStore } from '../limits/credentials.ts'
import { createThrottleStore } from '../limits/throttles.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createTransferStore } from './transfers.ts'

describe('a transfer that is not to be sent before a time', async () => {
  const { pool, driver, open, commit, enqueue } = await testHost({ max: 10 })
  const { tokens } = resolveNames({})
  const notBefore = new Date(Date.now() + 86_400_000)

  const attempts = createAttemptStore(driver, tokens)
  const startOf = async (id: string) => (await readJobs(pool, id))[0]?.dueAt
  /** Leaves the transfer as a claim that deferred it does. */
  const defer = async (id: string, stage: string, reason: string) => {
    await deferJobs(pool, '10 years')
    await pool.query('update outlay.transfer set stage = $2, reason = $3 where id = $1', [id, stage, reason])
  }

  it.each(['queued', 'blocked', 'awaiting_funds'])('waits for it when it is released while %s', async (stage) => {
    const engine = open()
    const { id } = await enqueue(engine, { notBefore })
    await pool.query('update outlay.transfer set stage = $1', [stage])
    if (stage === 'blocked') await removeJobs(pool)
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(true)
    expect(await startOf(id)).toEqual(notBefore)
    expect(await attempts.fetch(10, 'worker')).toEqual([])
  })

  it('waits for it when its account is resumed, funded, within its limits again, or has good credentials', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { notBefore })
    const ends: readonly (readonly [stage: string, reason: string, end: () => Promise<unknown>])[] = [
      [
        'queued',
        'account_paused',
        async () => {
          await commit((tx) => engine.accounts.pause(tx, 'acme'))
          await commit((tx) => engine.accounts.resume(tx, 'acme'))
        },
      ],
      ['queued', 'account_paused', () => createTransferStore(driver, tokens).releaseResumed()],
      ['awaiting_funds', 'insufficient_balance', () => commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))],
      ['queued', 'unauthenticated', () => createCredentialStore(driver, tokens).releaseRestored()],
      [
        'queued',
        'unauthenticated',
        async () => {
          await pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now())`)
          await createCredentialStore(driver, tokens).wakeProbes(['default'])
          await pool.query('truncate outlay.unauthorized_account')
        },
      ],
      [
        'queued',
        'account_limited',
        async () => {
          await pool.query(`insert into outlay.account_throttle (account_id, waiting) values ('acme', true)`)
          await createThrottleStore(driver, tokens).release()
        },
      ],
    ]
    for (const [stage, reason, end] of ends) {
      await defer(id, stage, reason)
      await end()
      expect([reason, await startOf(id)]).toEqual([reason, notBefore])
      expect(await attempts.fetch(10, 'worker')).toEqual([])
    }
  })

  it('goes back to its time when its job comes too early, by whatever accident', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { notBefore })
    await loseJobs(pool)
    expect(await attempts.fetch(10, 'worker')).toMatchObject([{ id: Id.toUuid(id), claim: undefined }])
    expect(await attempts.claim(await fetchJobs(pool, id), 'worker')).toEqual([])
    expect(await startOf(id)).toEqual(notBefore)
    expect(await readJobs(pool)).toMatchObject([{ state: 'waiting' }])
    await pool.query(`update outlay.transfer set not_before = now() - interval '1 second'`)
    await loseJobs(pool)
    expect(await attempts.fetch(10, 'worker')).toMatchObject([{ claim: { transferId: id, attempt: 1 } }])
  })

  it('keeps its times when it is enqueued again, unless others are given', async () => {
    const engine = open()
    const expiresAt = new Date(Date.now() + 2 * 86_400_000)
    const { id } = await enqueue(engine, { notBefore, expiresAt })
    await commit((tx) => engine.transfers.cancel(tx, id))
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect(again).toMatchObject({ notBefore: notBefore.toISOString(), expiresAt: expiresAt.toISOString() })
    expect(await startOf(again.id)).toEqual(notBefore)
    const later = new Date(Date.now() + 3 * 86_400_000)
    const given = { idempotencyKey: 'at-once', notBefore: null, expiresAt: later }
    await commit((tx) => engine.transfers.cancel(tx, again.id))
    const atOnce = await commit((tx) => engine.transfers.resubmit(tx, again.id, given))
    expect(atOnce).toMatchObject({ notBefore: null, expiresAt: later.toISOString() })
  })

  it('is not enqueued again when its time has passed, until the caller gives another one', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { expiresAt: new Date(Date.now() + 86_400_000) })
    await commit((tx) => engine.transfers.cancel(tx, id))
    await pool.query(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [id])
    const resubmit = (expiresAt?: Date | null) => commit((tx) => engine.transfers.resubmit(tx, id, { expiresAt }))
    await expect(resubmit()).rejects.toMatchObject({ code: 'conflict', field: 'expiresAt' })
    expect(await resubmit(null)).toMatchObject({ expiresAt: null, reused: false })
    await expect(resubmit(new Date(0))).rejects.toMatchObject({ code: 'invalid_request', field: 'expiresAt' })
  })
})
