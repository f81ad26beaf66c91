import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a batch of very many', async () => {
  const { begin, pool, open, commit, rows } = await testHost()
  /** A batch with so many transfers, whose ids are in their order. */
  const fill = async (engine: HostEngine, count: number) => {
    const { id } = await commit((tx) => engine.batches.create(tx))
    const payouts = Array.from({ length: count }, () => samplePayout('acme', { batchId: id }))
    const enqueued = await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
    return { id, ids: enqueued.map((one) => one.id).sort() }
  }
  const fold = (on: Pick<PoolClient, 'query'>) => on.query('select outlay.fold_batches(50)')

  it('reads few of its transfers where one of them waits to be handed over to another gateway', async () => {
    const engine = open()
    const { id, ids } = await fill(engine, 2_000)
    await rows(`update outlay.transfer set stage = 'settled', status = 'failed', reason = 'failover'`)
    await commit((tx) => engine.batches.close(tx, id))
    await rows(`insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id)
      select 'outlay.failover', t.id, 1, 'transfer.failed', t.account_id from outlay.transfer t`)
    await fold(pool)
    await rows('analyze outlay.transfer, outlay.delivery, outlay.attempt')
    await rows('delete from outlay.delivery where transfer_id <> $1', [ids.at(-1)])
    const tx = await begin()
    // No session keeps a plan from when the tables were small.
    await tx.query('discard plans')
    const read = async () =>
      Number(
        (
          await tx.query(
            `select seq_tup_read + idx_tup_fetch as count from pg_stat_xact_user_tables where relid = 'outlay.transfer'::regclass`,
          )
        ).rows[0].count,
      )
    const before = await read()
    await fold(tx)
    expect((await read()) - before).toBeLessThan(50)
    await tx.query('commit')
    expect((await engine.batches.get(id))?.state).toBe('closed')
    await rows('update outlay.delivery set dead = true')
    await fold(pool)
    expect((await engine.batches.get(id))?.state).toBe('completed')
  })

  it('is canceled but for what is sent while the cancel waits for others', async () => {
    const engine = open()
    const { id, ids } = await fill(engine, 3)
    const [first = '', second = '', third = ''] = ids
    const moveTo = (stage: string, attempt: number) =>
      rows('update outlay.transfer set stage = $1, attempt = $2 where id = any ($3)', [stage, attempt, [first, third]])
    await moveTo('submitting', 1)
    const [one, other, host] = [await begin(), await begin(), await begin()]
    const pid = (await host.query('select pg_backend_pid() as pid')).rows[0].pid
    const waitsFor = async (holder: PoolClient) => {
      const { pid: held } = (await holder.query('select pg_backend_pid() as pid')).rows[0]
      return (await rows('select $1 = any (pg_blocking_pids($2)) as waits', [held, pid]))[0]?.waits === true
    }
    const lock = (tx: PoolClient, one: string) =>
      tx.query('select from outlay.transfer where id = $1 for update', [one])
    // The cancel waits for the second one; meanwhile the others come back from their first attempts.
    await lock(one, second)
    let isDone = false
    const canceled = engine.batches.cancel(host, id, { actor: 'ann', reason: 'a mistake' }).finally(() => {
      isDone = true
    })
    await waitUntil(() => waitsFor(one))
    await moveTo('queued', 1)
    await lock(other, first)
    await one.query('commit')
    // If it waits for the first one now, it has read the third one before that is sent again.
    await waitUntil(async () => isDone || (await waitsFor(other)))
    await rows(
      `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 2, 'w', clock_timestamp())`,
      [third],
    )
    await rows('update outlay.transfer set attempt = 3, reason = $2 where id = $1', [third, 'insufficient_balance'])
    await other.query('commit')
    expect(await canceled).toEqual({ canceled: 1, unended: 2 })
    await host.query('commit')
    expect(await engine.transfers.get(second)).toMatchObject({ status: 'canceled' })
    expect(await engine.transfers.get(third)).toMatchObject({ stage: 'queued' })
    expect(await commit((tx) => engine.batches.cancel(tx, id))).toEqual({ canceled: 1, unended: 1 })
  })
})
