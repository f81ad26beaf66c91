import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { loseJobs } from '../../test/queue.ts'

const amount = { value: '11.00', currency: 'USD' }

describe('a resubmission', async () => {
  const { pool, open, commit, rows, enqueue, forgetRequests } = await testHost()

  const locked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  /** Until the other transaction waits for a lock, or has ended without. */
  const untilWaiting = (other: Promise<unknown>) =>
    Promise.race([
      other.catch(() => undefined),
      waitUntil(async () => (await rows(locked)).length > 0, { describe: 'a transaction that waits' }),
    ])
  const begun: PoolClient[] = []
  // Before the tables are emptied, which would wait for it.
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const begin = async (isolation = 'read committed') => {
    const tx = await pool.connect()
    begun.push(tx)
    await tx.query(`begin isolation level ${isolation}`)
    return tx
  }
  const links = () => rows('select transfer_id, successor_id from outlay.resubmission order by transfer_id')
  const count = async () => (await rows('select count(*)::integer as count from outlay.transfer'))[0]?.['count']

  describe('of a transfer whose first request was lost', () => {
    const claim = async () => {
      await loseJobs(pool)
      await pool.query(`select * from outlay.fetch_and_claim(10, 'one of two', '', null)`)
    }
    const settle = (on: Pick<PoolClient, 'query'>, id: string, attempt: number, outcome: object) => {
      const settlement = { id, attempt, status: 'pending', events: [], ...outcome }
      return on.query(
        `select outlay.settle(jsonb_build_array($1::jsonb || jsonb_build_object('job', outlay.job_id($2))), 2)`,
        [JSON.stringify(settlement), id],
      )
    }
    const accepted = {
      ...{ outcome: 'accepted', http_status: 201, stage: 'submitted', status: 'processing', remote_id: 'remote-1' },
      events: ['transfer.submitted'],
    }
    /** Canceled ten minutes after a request that nobody has answered yet. */
    const cancelUnanswered = async (engine: HostEngine) => {
      const { id } = await enqueue(engine)
      await claim()
      await claim()
      const poor = { outcome: 'insufficient_balance', stage: 'awaiting_funds', reason: 'insufficient_balance' }
      await settle(pool, id, 2, { ...poor, http_status: 422, retry_ms: 30_000 })
      await forgetRequests()
      await commit((tx) => engine.transfers.cancel(tx, id))
      return id
    }

    it('waits for an acceptance that is being written, and is refused', async () => {
      const engine = open()
      const id = await cancelUnanswered(engine)
      const worker = await begin()
      await settle(worker, id, 1, accepted)
      const resubmitting = commit((tx) => engine.transfers.resubmit(tx, id).catch((error: unknown) => error))
      await untilWaiting(resubmitting)
      await worker.query('commit')
      expect(await resubmitting).toMatchObject({ code: 'conflict', message: expect.stringContaining('after its end') })
      expect(await links()).toEqual([])
      expect(await count()).toBe(1)
    })

    it('fails in a snapshot from before the acceptance', async () => {
      const engine = open()
      const id = await cancelUnanswered(engine)
      const tx = await begin('repeatable read')
      await tx.query('select from outlay.transfer')
      await settle(pool, id, 1, accepted)
      await expect(engine.transfers.resubmit(tx, id)).rejects.toThrow('could not serialize')
      await tx.query('rollback')
      expect(await count()).toBe(1)
    })

    it('keeps an acceptance from being written until its transaction ends', async () => {
      const engine = open()
      const id = await cancelUnanswered(engine)
      const tx = await begin()
      await engine.transfers.resubmit(tx, id)
      const { rows: answers } = await settle(pool, id, 1, accepted)
      expect(JSON.stringify(answers)).toContain('locked')
      await tx.query('rollback')
      await settle(pool, id, 1, accepted)
      await expect(commit((again) => engine.transfers.resubmit(again, id))).rejects.toMatchObject({ code: 'conflict' })
      expect(await count()).toBe(1)
    })
  })

  it.each([
    ['the same', {}],
    ['another', { amount }],
  ])('under a key that another transaction takes with %s request records nothing', async (_, correction) => {
    const engine = open()
    const [first, second] = [(await enqueue(engine)).id, (await enqueue(engine)).id]
    await commit(async (tx) => {
      for (const id of [first, second]) await engine.transfers.cancel(tx, id)
    })
    const host = await begin()
    const { id: successor } = await engine.transfers.resubmit(host, first, { idempotencyKey: 'one-key' })
    const options = { idempotencyKey: 'one-key', ...correction }
    const other = commit((tx) => engine.transfers.resubmit(tx, second, options).catch((error: unknown) => error))
    await untilWaiting(other)
    await host.query('commit')
    expect(await other).toMatchObject({ code: 'idempotency_key_mismatch', field: 'idempotencyKey' })
    expect(await links()).toEqual([{ transfer_id: first, successor_id: successor }])
    const { id: own } = await commit((tx) => engine.transfers.resubmit(tx, second, correction))
    expect(await engine.transfers.get(second)).toMatchObject({ resubmittedAs: own })
    expect(await engine.transfers.get(own)).toMatchObject({ resubmissionOf: second })
  })
})
