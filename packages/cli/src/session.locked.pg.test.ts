import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../test/outbox.ts'

type Work = (tx: PoolClient) => Promise<unknown>

describe('a command behind a transaction that stays open', async () => {
  const host = await testHost()
  const { accounts, stops, fence, transfers } = host.engine
  const run = (...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })

  /** Runs a command while a host's transaction stays open, and rolls that back. */
  async function runBehind(work: Work, ...args: string[]) {
    const client = await host.pool.connect()
    try {
      await client.query('begin')
      await work(client)
      return await run(...args)
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  const limit: Work = (tx) => accounts.configure(tx, 'acme', { ratePerSecond: 5 })
  it.each<[string, Work, string[]]>([
    ['stop', (tx) => stops.add(tx, { scope: 'all' }), ['stop', '--all']],
    ['fence', (tx) => fence(tx, {}), ['fence']],
    ['accounts pause', limit, ['accounts', 'pause', 'acme']],
    ['accounts limit', limit, ['accounts', 'limit', 'acme', '--rate', '3']],
  ])('says that nothing was changed, and how to find who holds the lock: %s', async (_, work, args) => {
    await host.enqueue({ accountId: 'acme' })
    const { code, stdout, stderr } = await runBehind(work, ...args)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('NOTHING was stopped')
    expect(stderr).toContain('pg_blocking_pids(pid) from pg_stat_activity')
    const { rows } = await host.pool.query(
      `select (select count(*)::integer from outlay.stop) as stops,
        (select count(*)::integer from outlay.account where paused or rate_per_second is not null) as held,
        (select count(*)::integer from outlay.known_database where fenced_since is not null) as fenced`,
    )
    expect(rows).toEqual([{ stops: 0, held: 0, fenced: 0 }])
  })

  it('resumes nothing, and cancels nothing', async () => {
    const { id } = await host.enqueue({ accountId: 'acme' })
    await run('accounts', 'pause', 'acme')
    const resumed = await runBehind(limit, 'accounts', 'resume', 'acme', '--json')
    const canceled = await runBehind((tx) => transfers.cancel(tx, id), 'transfers', 'cancel', id, '--json')
    for (const { code, stderr } of [resumed, canceled]) {
      expect([code, JSON.parse(stderr).error.code]).toEqual([1, '55P03'])
    }
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'queued', status: 'pending' })
  })

  it('says what it has committed when what it reads afterwards is locked, and a diagnosis ends', async () => {
    await host.enqueue({ accountId: 'acme' })
    const lock: Work = (tx) => tx.query('lock table outlay.transfer in access exclusive mode')
    const stopped = await runBehind(lock, 'stop', '--account', 'acme')
    expect([stopped.code, stopped.stderr]).toEqual([0, ''])
    expect(stopped.stdout).toContain('Stopped: the account acme.')
    expect(stopped.stdout).toContain('could not be read')
    const diagnosed = await runBehind(lock, 'doctor')
    expect(diagnosed.code).toBe(1)
    expect(diagnosed.stderr).toContain('pg_blocking_pids(pid) from pg_stat_activity')
  }, 60_000)
})
