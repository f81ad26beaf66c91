import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { loseJobs } from '../../test/queue.ts'

/** Somebody else who writes something of the same transfer. */
interface Writer {
  /** Brings the transfer where it is before. */
  readonly prepare: (engine: HostEngine, id: string) => Promise<unknown>
  readonly write: (engine: HostEngine, tx: PoolClient, id: string) => Promise<unknown>
  /** Whether the transfer may be resubmitted once that is written. */
  readonly frees: boolean
}

describe('a resubmission in repeatable read, and somebody else who writes of the same transfer', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const begun: PoolClient[] = []
  // Before the tables are emptied, which would wait for it.
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const begin = async (isolation: string) => {
    const tx = await pool.connect()
    begun.push(tx)
    await tx.query(`begin isolation level ${isolation}`)
    return tx
  }
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  /** Until the other call waits for a lock, or has ended without. */
  const untilWaiting = (other: Promise<unknown>) =>
    Promise.race([
      other,
      waitUntil(async () => (await rows(waiting)).length > 0, { describe: 'a transaction that waits' }),
    ])
  const claim = async () => {
    await loseJobs(pool)
    await pool.query(`select * from outlay.fetch_and_claim(10, 'slow', '', null)`)
  }
  const settle = (tx: PoolClient, id: string, outcome: object) =>
    tx.query(`select outlay.settle(jsonb_build_array($1::jsonb || jsonb_build_object('job', outlay.job_id($2))), 2)`, [
      JSON.stringify({ id, attempt: 1, status: 'pending', events: [], ...outcome }),
      id,
    ])
  const refused = {
    ...{
      outcome: 'rejected',
      http_status: 422,
      stage: 'settled',
      status: 'failed',
      failure: { code: 'closed', retriable: false },
    },
    events: ['transfer.failed'],
  }
  const become = (text: string) => async (_engine: HostEngine, id: string) => {
    await claim()
    await pool.query(`update outlay.attempt set claimed_at = now() - interval '25 hours' where transfer_id = $1`, [id])
    await pool.query(`update outlay.transfer set ${text} where id = $1`, [id])
  }
  const block = become(`stage = 'blocked', reason = 'outcome_unknown', unknown_since = now() - interval '25 hours'`)
  const doubt = async (engine: HostEngine, id: string) => {
    await commit((tx) => engine.transfers.cancel(tx, id))
    await pool.query(
      `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at, answered_at, outcome, unmatched)
       values ($1, 1, 'reconcile', now() - interval '1 day', now() - interval '1 day', 'reconciled', true)`,
      [id],
    )
    await pool.query('update outlay.transfer set attempt = 1 where id = $1', [id])
  }
  const resolve =
    (resolution: Parameters<HostEngine['transfers']['resolve']>[2]): Writer['write'] =>
    (engine, tx, id) =>
      engine.transfers.resolve(tx, id, resolution)
  const observe =
    (observation: object): Writer['write'] =>
    (engine, tx) =>
      engine.transfers.observe(tx, 'acme', [{ remoteId: 'remote-1', failure: null, ...observation } as never])
  const returned = [
    { code: 'R10', amount: { value: '12.50', currency: 'USD' }, occurredAt: '2026-01-09T09:00:00.000Z' },
  ]

  const writers: Readonly<Record<string, Writer>> = {
    'a worker that settles its refusal': {
      prepare: claim,
      write: (_engine, tx, id) => settle(tx, id, refused),
      frees: true,
    },
    'a host that cancels': {
      prepare: async () => undefined,
      write: (engine, tx, id) => engine.transfers.cancel(tx, id),
      frees: true,
    },
    'a person who says that it was not paid': {
      prepare: block,
      write: resolve({ notPaid: true, reason: 'asked' }),
      frees: true,
    },
    'a person who says under which id it was paid': {
      prepare: block,
      write: resolve({ remoteId: 'remote-1', reason: 'asked' }),
      frees: false,
    },
    'a person who ends the doubt about it': {
      prepare: doubt,
      write: resolve({ notPaid: true, reason: 'asked' }),
      frees: true,
    },
    'a person who says that what was in doubt was paid': {
      prepare: doubt,
      write: resolve({ remoteId: 'remote-1', reason: 'asked' }),
      frees: false,
    },
    'a poll that sees its failure': {
      prepare: become(`stage = 'submitted', status = 'processing', remote_id = 'remote-1', next_poll_at = now()`),
      write: observe({
        status: 'failed',
        failure: {
          type: 'rejected',
          code: 'closed',
          detail: 'closed',
          retriable: false,
          occurredAt: '2026-01-09T09:00:00.000Z',
        },
      }),
      frees: true,
    },
    'a poll that sees its completion': {
      prepare: become(`stage = 'submitted', status = 'processing', remote_id = 'remote-1', next_poll_at = now()`),
      write: observe({ status: 'complete' }),
      frees: false,
    },
    'a poll that sees its return': {
      prepare: become(`stage = 'settled', status = 'complete', remote_id = 'remote-1'`),
      write: observe({ status: 'complete', returns: returned }),
      frees: false,
    },
  }

  const successors = async () =>
    (await rows('select count(*)::integer as count from outlay.resubmission'))[0]?.['count']
  const resubmit = (engine: HostEngine, tx: PoolClient, id: string) =>
    engine.transfers.resubmit(tx, id).then(
      () => 'done',
      (error: { readonly code?: string }) => error.code ?? 'failed',
    )
  /** Afterwards it is resubmitted once, where it may be. */
  const expectOnce = async (engine: HostEngine, id: string, { frees }: Writer) => {
    const again = await commit((tx) => resubmit(engine, tx, id)).catch(() => 'failed')
    expect(again).toBe(frees ? 'done' : 'conflict')
    expect(await successors()).toBe(frees ? 1 : 0)
    expect(await rows('select from outlay.transfer')).toHaveLength(frees ? 2 : 1)
  }

  it.each(Object.entries(writers))('refuses it in a snapshot from before %s', async (_, writer) => {
    const engine = open()
    const { id } = await enqueue(engine)
    await writer.prepare(engine, id)
    const host = await begin('repeatable read')
    await host.query('select from outlay.transfer')
    await commit((tx) => writer.write(engine, tx, id))
    expect(await resubmit(engine, host, id)).not.toBe('done')
    await host.query('rollback')
    expect(await successors()).toBe(0)
    await expectOnce(engine, id, writer)
  })

  it.each(Object.entries(writers))('refuses it before %s has committed', async (_, writer) => {
    const engine = open()
    const { id } = await enqueue(engine)
    await writer.prepare(engine, id)
    const other = await begin('read committed')
    await writer.write(engine, other, id)
    const host = await begin('repeatable read')
    const resubmitting = resubmit(engine, host, id)
    await untilWaiting(resubmitting)
    await other.query('commit')
    expect(await resubmitting).not.toBe('done')
    await host.query('rollback')
    await expectOnce(engine, id, writer)
  })

  it('has one successor when two ask in snapshots of the same moment', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.cancel(tx, id))
    const [one, two] = [await begin('repeatable read'), await begin('repeatable read')]
    for (const tx of [one, two]) await tx.query('select from outlay.transfer')
    expect(await resubmit(engine, one, id)).toBe('done')
    const second = resubmit(engine, two, id)
    await untilWaiting(second)
    await one.query('commit')
    expect(await second).toBe('40001')
    await two.query('rollback')
    expect(await successors()).toBe(1)
    expect(await commit((tx) => engine.transfers.resubmit(tx, id))).toMatchObject({ reused: true })
  })
})
