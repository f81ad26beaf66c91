import { findPgBouncer, startPgBouncer, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import { leaveJobs, makeJobsDue, queueSchema, removeJobs, setQueueVersion, setSupervised } from '../../test/queue.ts'
import type { Finding } from './finding.ts'

const pgBouncer = await findPgBouncer()

describe('the doctor', async () => {
  const host = await testHost()
  const { database } = host

  async function examine(url = database.url) {
    const { code, stdout, stderr } = await outlay(['doctor', '--json'], { DATABASE_URL: url })
    if (stdout === '') throw new Error(stderr)
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] }
    return { code, findings, codes: findings.map((finding) => finding.code) }
  }
  const find = async (code: string): Promise<Finding> => {
    const { findings, codes } = await examine()
    const found = findings.find((finding) => finding.code === code)
    if (found === undefined) throw new Error(`Found only ${codes.join(', ')}`)
    return found
  }
  const sql = (text: string, values: unknown[] = []) => host.pool.query(text, values)
  const age = (column: string, interval: string) =>
    sql(`update outlay.transfer set ${column} = now() - interval '${interval}'`)

  it('finds nothing when all is well and a worker runs', async () => {
    await host.engine.start()
    await waitUntil(async () => (await examine()).codes.length === 0)
    const { code, stdout } = await outlay(['doctor'], { DATABASE_URL: database.url })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'All is well.\n' })
  })

  it('finds a database that was not migrated, and names the command', async () => {
    const { code, findings } = await examine(await database.another().then((url) => emptied(url)))
    expect(code).toBe(1)
    expect(findings).toMatchObject([{ code: 'not_migrated', cure: expect.stringContaining('outlay migrate') }])
  })

  it('finds a schema that is behind, a queue of another version, and a newer release', async () => {
    const url = await database.another()
    const pool = new pg.Pool({ connectionString: url })
    await pool.query(`delete from outlay.migration where name = 'functions/settle'`)
    await setQueueVersion(pool, 44)
    await pool.query('alter table outlay.migration disable trigger guard_migration')
    await pool.query(`insert into outlay.migration (name, checksum) values ('0099_later', 'x')`)
    await pool.query(`update outlay.migration set checksum = 'x' where name = '0001_baseline'`)
    await pool.end()
    const { codes, code } = await examine(url)
    expect(code).toBe(1)
    expect(codes).toEqual(['schema_behind', 'migration_changed', 'schema_ahead', 'queue_version_untested'])
  })

  it('finds a transfer without a job', async () => {
    const { id } = await host.enqueue()
    await removeJobs(host.pool)
    const finding = await find('job_missing')
    expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('sweep') })
    expect(finding.what).toContain(id)
  })

  it('finds a job without a transfer', async () => {
    const { id } = await host.enqueue()
    await sql('delete from outlay.transfer where id = $1', [id])
    expect(await find('job_stray')).toMatchObject({
      severity: 'warning',
      cure: expect.stringContaining('drop such jobs'),
    })
  })

  it('finds a transfer that nobody has released for three days', async () => {
    const { id } = await host.enqueue()
    const note = ['--actor', 'olga', '--reason', 'it is odd']
    await outlay(['transfers', 'hold', id, ...note], { DATABASE_URL: database.url })
    expect((await examine()).codes).not.toContain('held_long')
    await sql(`update outlay.hold set since = now() - interval '3 days'`)
    const finding = await find('held_long')
    expect(finding).toMatchObject({ severity: 'warning', what: expect.stringContaining(id) })
  })

  it('finds due transfers that no worker claims', async () => {
    await host.enqueue()
    await setSupervised(host.pool, '1 hour')
    await makeJobsDue(host.pool, '1 hour')
    const finding = await find('no_workers')
    expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('engine.start()') })
    await setSupervised(host.pool, '0')
    expect(await find('workers_behind')).toMatchObject({
      severity: 'serious',
      cure: expect.stringContaining('concurrency'),
    })
  })

  it('finds a transfer whose worker is lost', async () => {
    await host.enqueue()
    await leaveJobs(host.pool, '2 minutes')
    await sql(`update outlay.transfer set stage = 'submitting'`)
    expect(await find('worker_lost')).toMatchObject({ cure: expect.stringContaining('same keys') })
  })

  it('finds an old unknown outcome', async () => {
    await host.enqueue()
    await age('unknown_since', '13 hours')
    expect(await find('outcome_unknown')).toMatchObject({ severity: 'serious', cure: expect.stringContaining('prove') })
  })

  it('finds blocked transfers, with the cure that fits the reason', async () => {
    await host.enqueue()
    await sql(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown'`)
    expect((await find('blocked')).cure).toContain('the same key once more')
    await sql(`update outlay.transfer set reason = 'idempotency_key_mismatch'`)
    expect((await find('blocked')).cure).toContain('outlay transfers resolve')
  })

  it('finds what is tried again and again and never sent, with what the last attempt came to', async () => {
    host.gateway.script(() => ({ outcome: 'throttled', detail: 'not sent: the limiter of the host does not answer' }))
    await host.engine.start()
    await host.enqueue()
    await waitUntil(
      async () => (await sql(`select 1 from outlay.transfer where reason = 'rate_limited'`)).rowCount === 1,
    )
    await host.engine.stop()
    await age('created_at', '20 minutes')
    expect(await find('deferred')).toMatchObject({ severity: 'warning' })
    await age('created_at', '3 hours')
    const finding = await find('deferred')
    expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('outlay prove') })
    expect(finding.what).toMatch(
      /1 transfer deferred \(rate_limited\), the oldest for 3h: \S+; of acme\..*the limiter of the host does not answer/,
    )
    await sql(`update outlay.transfer set not_before = now() - interval '1 minute'`)
    expect((await examine()).codes).not.toContain('deferred')
  })

  it.each(['failed', 'canceled'])(
    'finds first a transfer that ended as %s and was accepted afterwards',
    async (status) => {
      const ids = [(await host.enqueue()).id, (await host.enqueue()).id]
      await sql(`select * from outlay.fetch_and_claim(2, 'w', '', null)`)
      const answer = { attempt: 1, outcome: 'accepted', stage: 'submitted', status: 'processing', events: [] }
      const answers = JSON.stringify(ids.map((id) => ({ ...answer, id, remote_id: `remote of ${id}` })))
      const settle = async () => (await sql('select result from outlay.settle($1, 2)', [answers])).rows
      await sql(`update outlay.transfer set stage = 'settled', status = $2 where id = $1`, [ids[0], status])
      await host.commit((tx) => host.engine.stops.add(tx, { scope: 'account', name: 'acme' }))
      expect(await settle()).toEqual([{ result: 'stale' }, { result: 'settled' }])
      // An answer is written again when the answer to its commit was lost.
      await settle()
      const { findings, code } = await examine()
      expect(code).toBe(1)
      expect(findings[0]).toMatchObject({ code: 'accepted_late', severity: 'serious' })
      expect(findings[0]?.what).toContain(`1 transfer that ended here without an effect`)
      expect(findings[0]?.what).toContain(`${ids[0]}. The first: accepted as remote of ${ids[0]}, too late`)
      expect(findings[0]?.cure).toContain('do not resubmit')
      const { stdout } = await outlay(['prove', ids[0] ?? ''], { DATABASE_URL: database.url })
      expect(stdout).toContain('CONTRADICTION')
      const resubmit = () => host.commit((tx) => host.engine.transfers.resubmit(tx, ids[0] ?? ''))
      await expect(resubmit()).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('after its end'),
      })
      await sql('update outlay.attempt set unmatched = false where transfer_id = $1', [ids[0]])
      expect((await examine()).codes).not.toContain('accepted_late')
      expect(await resubmit()).toMatchObject({ reused: false })
      await sql('truncate outlay.stop')
    },
  )

  it('finds a transfer that ended behind a fence and that the service may have, until a person decides', async () => {
    const { id } = await host.enqueue()
    await host.commit(async (tx) => {
      await host.engine.fence(tx)
      await host.engine.transfers.cancel(tx, id)
    })
    const doubt = [{ id, remote_id: null, evidence: 'It may be r-1.' }]
    await sql(`select outlay.log_ended($1, 'ann')`, [JSON.stringify(doubt)])
    try {
      const finding = await find('ended_in_doubt')
      expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('outlay transfers resolve') })
      expect(finding.what).toContain(`${id}. The first: It may be r-1.`)
      const options = ['--not-paid', '--actor', 'ann', '--reason', 'asked']
      const resolved = await outlay(['transfers', 'resolve', id, ...options], { DATABASE_URL: database.url })
      expect(resolved.code).toBe(0)
      const { codes } = await examine()
      expect(codes).toContain('fenced')
      expect(codes).not.toContain('ended_in_doubt')
      const { stdout } = await outlay(['prove', id], { DATABASE_URL: database.url })
      expect(stdout).toContain('NO EFFECT')
    } finally {
      await sql('update outlay.known_database set fenced_since = null')
    }
  })

  it('finds a transfer that the service accepted a second time under another id', async () => {
    const [own, other] = [(await host.enqueue()).id, (await host.enqueue()).id]
    await sql(`select * from outlay.fetch_and_claim(2, 'w', '', null)`)
    const answer = { attempt: 1, outcome: 'accepted', stage: 'submitted', status: 'processing', events: [] }
    const answers = JSON.stringify([own, other].map((id) => ({ ...answer, id, remote_id: `r-${id}` })))
    await sql(
      `update outlay.transfer set stage = 'submitted', status = 'processing', attempt = 2, remote_id = $2 where id = $1`,
      [own, `r-${own}`],
    )
    await sql(
      `update outlay.transfer set stage = 'submitted', status = 'processing', attempt = 2, remote_id = 'r-2' where id = $1`,
      [other],
    )
    await sql('select result from outlay.settle($1, 2)', [answers])
    await sql('update outlay.attempt set unmatched = true where transfer_id = $1', [own])
    const finding = await find('accepted_twice')
    expect(finding).toMatchObject({ severity: 'serious', cure: expect.stringContaining('twice') })
    expect(finding.what).toContain(`1 transfer that the service accepted under another id`)
    expect(finding.what).toContain(`${other}. The first: accepted as r-${other}, too late`)
    await sql('update outlay.attempt set unmatched = false where unmatched')
    expect((await examine()).codes).not.toContain('accepted_twice')
  })

  it('finds what others made and cannot be adopted', async () => {
    await sql(
      `insert into outlay.found_transfer (account_id, remote_id, automated, transfer, problem) values ('acme', 'r9', false, '{}', 'no amount')`,
    )
    try {
      const finding = await find('adoption_failed')
      expect(finding).toMatchObject({ severity: 'warning', cure: expect.stringContaining('found_transfer') })
      expect(finding.what).toContain('r9 at the service. no amount')
    } finally {
      await sql('truncate outlay.found_transfer')
    }
  })

  it('finds refused credentials', async () => {
    host.gateway.script(() => ({ outcome: 'unauthorized', detail: 'no' }))
    await host.engine.start()
    await host.enqueue()
    await waitUntil(async () => (await examine()).codes.includes('credentials_refused'))
    const finding = await find('credentials_refused')
    expect(finding.what).toMatch(/1 account, for up to \d+s: acme/)
    expect(finding.cure).toContain('outlay accounts retry-credentials')
    const { stdout } = await outlay(['accounts', 'retry-credentials', 'acme'], { DATABASE_URL: database.url })
    expect(stdout).toContain('are probed now')
  })

  it('finds transfers that await funds for long', async () => {
    await host.enqueue()
    await sql(`update outlay.transfer set stage = 'awaiting_funds', created_at = now() - interval '2 days'`)
    expect((await find('awaiting_funds')).cure).toContain('outlay accounts funds-arrived')
  })

  it('finds submitted transfers that no worker polls, and those that take very long', async () => {
    await host.enqueue()
    await sql(
      `update outlay.transfer set stage = 'submitted', next_poll_at = now() - interval '1 hour', created_at = now() - interval '8 days'`,
    )
    expect((await find('overdue_polls')).cure).toContain('worker')
    expect((await find('submitted_long')).cure).toContain('service')
  })

  it('finds transfers that the service does not know any more', async () => {
    const { id } = await host.enqueue()
    await sql(
      `update outlay.transfer set stage = 'submitted', remote_id = 'r1', reason = 'missing_at_service', next_poll_at = now() + interval '1 hour'`,
    )
    await age('unknown_since', '2 hours')
    const finding = await find('missing_at_service')
    expect(finding).toMatchObject({ severity: 'serious', what: expect.stringContaining(id) })
    expect(finding.cure).toContain('outlay transfers release')
  })

  it('finds a paused account', async () => {
    await host.enqueue()
    await host.commit((tx) => host.engine.accounts.pause(tx, 'acme'))
    const finding = await find('account_paused')
    expect(finding.what).toContain('1 transfer waiting: acme')
    expect(finding.cure).toContain('outlay accounts resume')
  })

  it('finds dead letters, a subscription that is behind, and orphaned deliveries', async () => {
    await sql(`insert into outlay.subscription (name, types) values ('books', array['transfer.enqueued'])`)
    await host.enqueue()
    await host.enqueue()
    await sql(`update outlay.event set occurred_at = now() - interval '2 hours'`)
    await sql(
      `update outlay.delivery set dead = true, failures = 40, last_error = 'Error: closed' where ctid = (select min(ctid) from outlay.delivery)`,
    )
    const dead = await find('dead_letters')
    expect(dead.what).toContain('Error: closed')
    expect(dead.cure).toContain('outlay events replay books')
    expect((await find('subscription_lag')).what).toContain('2h')
    await sql('delete from outlay.subscription')
    expect(await find('deliveries_orphaned')).toMatchObject({ severity: 'warning' })
  })

  it('finds a table without autovacuum', async () => {
    await sql('alter table outlay.transfer set (autovacuum_enabled = false)')
    try {
      expect((await find('autovacuum_off')).what).toContain('outlay.transfer')
    } finally {
      await sql('alter table outlay.transfer reset (autovacuum_enabled)')
    }
  })

  it.skipIf(pgBouncer === undefined)('finds that a pooler swallows notifications', async () => {
    await using bouncer = await startPgBouncer({ url: database.url, poolSize: 4 })
    const { findings } = await examine(bouncer.url)
    const finding = findings.find((one) => one.code === 'listen_unheard')
    expect(finding?.what).toContain('pooler')
    expect(finding?.cure).toContain('listen: false')
  })
})

/** Removes the engine from a database. */
async function emptied(url: string): Promise<string> {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query('drop schema outlay cascade')
  await pool.query(`drop schema ${queueSchema} cascade`)
  await pool.end()
  return url
}
