import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { type Host, outlay, testHost } from '../../test/outbox.ts'

type Work = (tx: PoolClient, host: Host) => Promise<unknown>

const run = (host: Host, ...args: string[]) => outlay(args, { DATABASE_URL: host.database.url })

/** Runs a command while a host's transaction stays open, and rolls that back. */
async function runBehind(host: Host, work: Work, ...args: string[]) {
  const client = await host.pool.connect()
  try {
    await client.query('begin')
    await work(client, host)
    return await run(host, ...args)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Runs a command while another session has a table locked, even for readers. */
const runBehindLock = (host: Host, table: string, ...args: string[]) =>
  runBehind(host, (tx) => tx.query(`lock table outlay.${table} in access exclusive mode`), ...args)

/** A test with a database of its own: each waits for some seconds, and they wait side by side. */
const test = (command: string, says: string, work: (host: Host) => Promise<void>) =>
  describe(command, async () => {
    const host = await testHost()
    it(says, () => work(host))
  })

const limit: Work = (tx, { engine }) => engine.accounts.configure(tx, 'acme', { ratePerSecond: 5 })

describe.concurrent('behind a transaction that stays open', () => {
  const changes: readonly (readonly [string, Work, readonly string[]])[] = [
    ['stop', (tx, { engine }) => engine.stops.add(tx, { scope: 'all' }), ['stop', '--all']],
    ['fence', (tx, { engine }) => engine.fence(tx, {}), ['fence']],
    ['accounts pause', limit, ['accounts', 'pause', 'acme']],
    ['accounts limit', limit, ['accounts', 'limit', 'acme', '--rate', '3']],
  ]
  for (const [command, work, args] of changes) {
    test(command, 'says that nothing was changed, and how to find who holds the lock', async (host) => {
      await host.enqueue({ accountId: 'acme' })
      const { code, stdout, stderr } = await runBehind(host, work, ...args)
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
  }

  test('accounts resume, transfers cancel', 'change nothing', async (host) => {
    const { id } = await host.enqueue({ accountId: 'acme' })
    await run(host, 'accounts', 'pause', 'acme')
    const resumed = await runBehind(host, limit, 'accounts', 'resume', 'acme', '--json')
    const cancel: Work = (tx, { engine }) => engine.transfers.cancel(tx, id)
    const canceled = await runBehind(host, cancel, 'transfers', 'cancel', id, '--json')
    for (const { code, stderr } of [resumed, canceled]) {
      expect([code, JSON.parse(stderr).error.code]).toEqual([1, '55P03'])
    }
    expect(await host.engine.transfers.get(id)).toMatchObject({ stage: 'queued', status: 'pending' })
  })

  const committed: readonly (readonly [string, RegExp, string, readonly string[]])[] = [
    ['stop', /^Stopped: everything\..* could not be read/s, 'transfer', ['stop', '--all']],
    ['stop --account', /^Stopped: the account acme\..* could not be read/s, 'account', ['stop', '--account', 'acme']],
    ['start-sending', /^There is no stop.* could not be read/s, 'known_database', ['start-sending', '--all']],
    ['fence', /^Fenced\..* could not be read/s, 'transfer', ['fence']],
    ['adopt-database', /^Adopted, and fenced.* could not be read/s, 'transfer', ['adopt-database']],
    ['accounts pause', /^acme is paused\..* could not be read/s, 'transfer', ['accounts', 'pause', 'acme']],
    ['accounts resume', /^acme is not paused.* could not be read/s, 'stop', ['accounts', 'resume', 'acme']],
    [
      'accounts limit',
      /^The limits .* could not be read/s,
      'account_throttle',
      ['accounts', 'limit', 'acme', '--rate', '9'],
    ],
    [
      'funds-arrived',
      /^1 transfer of acme due again.* could not be read/s,
      'stop',
      ['accounts', 'funds-arrived', 'acme'],
    ],
  ]
  for (const [command, says, table, args] of committed) {
    test(command, 'says first what it has committed, then what could not be read', async (host) => {
      await host.engine.start()
      await host.engine.stop()
      await host.enqueue({ accountId: 'acme' })
      await host.pool.query(`update outlay.transfer set stage = 'awaiting_funds', reason = 'insufficient_balance'`)
      const { code, stdout, stderr } = await runBehindLock(host, table, ...args)
      expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(says), ''])
    })
  }

  test('transfers release', 'releases a transfer and says that what else holds it could not be read', async (host) => {
    const { id } = await host.enqueue()
    await host.pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown'`)
    const { code, stdout } = await runBehindLock(host, 'stop', 'transfers', 'release', id)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^1 transfer released.* could not be read/)])
    expect(stdout).toMatch(/blocked\/pending \(outcome_unknown\) → queued\/pending/)
  })

  test('stop', 'stops although it cannot read which migrations have run', async (host) => {
    const { code, stdout } = await runBehindLock(host, 'migration', 'stop', '--all')
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('Whether the schema is that of this release could not be read.'),
    ])
    expect(await host.engine.stops.list()).toHaveLength(1)
  })

  const waiting: readonly (readonly [string, readonly string[]])[] = [
    ['transfer', ['status']],
    ['transfer', ['transfers', 'list']],
    ['account', ['accounts', 'list']],
    ['subscription', ['subscriptions', 'list']],
    ['event', ['events', 'tail', '--once', '--since', '1h']],
    ['transfer', ['archive', '--older-than', '1s']],
    ['transfer', ['roles']],
    ['migration', ['migrate']],
  ]
  for (const [table, args] of waiting) {
    test(args.join(' '), `waits for ${table} no longer than for another lock`, async (host) => {
      await host.enqueue()
      const { code, stderr } = await runBehindLock(host, table, ...args, '--json')
      expect([code, JSON.parse(stderr).error.code]).toEqual([1, '55P03'])
    })
  }
})
