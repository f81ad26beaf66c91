import { type EnqueuedTransfer, Id, OutlayError, type OutlayErrorOptions, obstacles } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { deferJobs, removeJobs } from '../../test/queue.ts'
import { inspect } from './inspection.ts'

/** For reads that a long transaction in another database of the server can delay. */
const patience = { timeoutMs: 150_000 }

describe('an inspection', async () => {
  const { pool, driver, open, commit, enqueue, enqueueMany, rows } = await testHost()

  function make() {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const pay = (accountId = 'acme') => enqueue(engine, { accountId })
    return { gateway, engine, enqueue: pay, inspection: inspect({ driver }) }
  }

  /** The first event of a transfer is stored where a subscription wants it. */
  const wantAll = () =>
    pool.query(`insert into outlay.subscription (name, types) values ('all', '{transfer.enqueued}')`)

  it('finds the job of a transfer by the same bits that the engine gives it, both ways', async () => {
    const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
    // Each digit in each place.
    const ids = [...digits].map((_, by) => digits.slice(by % 8, (by % 8) + 1) + (digits + digits).slice(by, by + 25))
    ids.push('00000000000000000000000000', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', '01J9ZQ3M8X5K7TQVWXYZABCDEF')
    for (const id of ids) {
      const [row] = await rows('select outlay.job_id($1) as job, outlay.transfer_of_job(outlay.job_id($1)) as back', [
        id,
      ])
      expect(row).toEqual({ job: Id.toUuid(id), back: id })
    }
  })

  it('knows the same obstacles as the engine', async () => {
    expect(await rows('select outlay.obstacles() as names')).toEqual([{ names: [...obstacles, 'poll_failed'] }])
  })

  it('reads a transfer with its job, its next attempt and its timeline in SQL', async () => {
    const { engine, gateway, enqueue } = make()
    gateway.script(() => ({
      outcome: 'throttled',
      retryAfterMs: 600_000,
      detail: 'slow down',
      httpStatus: 429,
      requestId: 'r-1',
    }))
    await engine.start()
    const { id } = await enqueue()
    await reach(engine, id, { reason: 'rate_limited' })
    const [row] = await rows('select * from outlay.transfers where id = $1', [id])
    expect(row).toMatchObject({
      stage: 'queued',
      reason: 'rate_limited',
      job_state: 'waiting',
      attempts: 1,
      currency: 'USD',
    })
    expect(row.next_attempt_at.getTime() - Date.now()).toBeGreaterThan(500_000)
    const [stuck] = await rows('select waits_for, remedy from outlay.stuck_transfers')
    expect(stuck.waits_for).toBe('the service, which asked for a pause')
    const timeline = await rows('select what, detail from outlay.timeline_of($1)', [id])
    expect(timeline.map((one) => one.what)).toEqual(['transfer.enqueued', 'attempt 1', 'attempt 1 throttled'])
    expect(timeline[2].detail).toBe('HTTP 429, request r-1, slow down')
    const [attempt] = await rows('select attempt, outcome, http_status from outlay.attempts_of($1)', [id])
    expect(attempt).toEqual({ attempt: 1, outcome: 'throttled', http_status: 429 })
  })

  it('does not say that the service asked for a pause when the credentials function or the throttle of the host fails', async () => {
    const { engine, gateway, enqueue } = make()
    const detail = 'not sent: the address or the limits of the account could not be found'
    gateway.script(() => ({ outcome: 'throttled', retryAfterMs: 600_000, detail }))
    await engine.start()
    const { id } = await enqueue()
    await reach(engine, id, { reason: 'rate_limited' })
    const [stuck] = await rows('select waits_for, remedy from outlay.stuck_transfers')
    expect(stuck.waits_for).toBe(detail.replace('not sent', 'the gateway, which sent nothing'))
    expect(stuck.remedy).toContain('outlay prove')
  })

  it('says in words what each stuck transfer waits for, and leaves out those that wait for their turn', async () => {
    const { enqueue, inspection } = make()
    const names = [
      'fresh',
      'jobless',
      'unsure',
      'poor',
      'paused',
      'refused',
      'lost',
      'overdue',
      'blocked',
      'overduePolls',
      'missing',
    ]
    const ids = new Map<string, string>()
    for (const name of names) ids.set(name, (await enqueue(name)).id)
    const set = (name: string, change: string) =>
      pool.query(`update outlay.transfer set ${change} where account_id = $1`, [name])
    await set('unsure', `reason = 'outcome_unknown', unknown_since = now() - interval '1 hour'`)
    await set('poor', `stage = 'awaiting_funds', reason = 'insufficient_balance'`)
    await set('paused', `reason = 'account_paused'`)
    await set('refused', `reason = 'unauthenticated'`)
    await set('lost', `stage = 'submitting', updated_at = now() - interval '1 hour'`)
    await set('blocked', `stage = 'blocked', reason = 'outcome_unknown'`)
    await set('overduePolls', `stage = 'submitted', next_poll_at = now() - interval '1 hour'`)
    await set(
      'missing',
      `stage = 'submitted', reason = 'missing_at_service', unknown_since = now(), next_poll_at = now() + interval '1 hour'`,
    )
    await set('overdue', `updated_at = now() - interval '1 hour'`)
    await set('jobless', `updated_at = now() - interval '1 hour'`)
    await deferJobs(pool, '-1 hour', ids.get('overdue') ?? '')
    await removeJobs(pool, ids.get('jobless') ?? '')
    const stuck = await inspection.stuck()
    const words = Object.fromEntries(stuck.map((one) => [one.accountId, one.waitsFor.split(/[:,]/)[0]]))
    expect(words).toEqual({
      jobless: 'a job',
      unsure: 'certainty',
      poor: 'funds',
      paused: 'its account',
      refused: 'credentials',
      lost: 'the answer to an attempt that its worker holds',
      overdue: 'a worker',
      blocked: 'a person',
      overduePolls: 'a poll of its status',
      missing: 'a person',
    })
    expect(stuck.every((one) => one.remedy !== '')).toBe(true)
    expect(await inspection.stuck({ accountId: 'poor' })).toHaveLength(1)
  })

  it('says what keeps the status of a submitted transfer from being read, from the first poll until one is read', async () => {
    const { gateway } = make()
    let trouble: OutlayErrorOptions | undefined = { obstacle: 'misconfigured' }
    gateway.script(() => ({ outcome: 'accepted', remoteId: 'r-unread' }))
    const engine = open({
      gateway: {
        ...gateway,
        get(accountId, remoteId, options) {
          const failed = new OutlayError('service_unavailable', 'no status', trouble)
          return trouble === undefined ? gateway.get(accountId, remoteId, options) : Promise.reject(failed)
        },
      },
    })
    const pollNow = () => pool.query(`update outlay.transfer set next_poll_at = now() where stage = 'submitted'`)
    await engine.start()
    const { id } = await enqueue(engine, { accountId: 'unread' })
    await reach(engine, id, { stage: 'submitted' })
    await pollNow()
    await reach(engine, id, { reason: 'misconfigured' })
    const inspection = inspect({ driver })
    expect((await inspection.health()).obstructed).toMatchObject([
      { accountId: 'unread', reason: 'misconfigured', isSubmitted: true, count: 1, lastDetail: null },
    ])
    const [stuck] = await inspection.stuck()
    expect(stuck).toMatchObject({ id, reason: 'misconfigured' })
    expect(stuck?.waitsFor).toContain('a poll of its status: the gateway is not configured correctly')
    expect(stuck?.remedy).toContain('certificate')
    const [row] = await rows(
      `select next_poll_at < now() + interval '6 minutes' as soon from outlay.transfer where id = $1`,
      [id],
    )
    expect(row).toEqual({ soon: true })
    // The certificate is corrected, and now the service itself fails.
    trouble = { status: 503 }
    await pollNow()
    await reach(engine, id, { reason: 'poll_failed' })
    expect((await inspection.health()).obstructed).toMatchObject([
      { reason: 'poll_failed', isSubmitted: true, count: 1 },
    ])
    const [failing] = await inspection.stuck()
    expect(failing?.waitsFor).toBe('a poll of its status: its gateway got an error in place of the status')
    expect(failing?.remedy).toContain('HTTP 5xx')
    trouble = undefined
    await pollNow()
    await waitUntil(async () => (await engine.transfers.get(id))?.reason === null)
    expect(await inspection.stuck()).toEqual([])
  })

  it('finds what is stuck behind many that wait for their turn', async () => {
    const { engine, enqueue, inspection } = make()
    const waiting = await enqueueMany(engine, 1_200)
    const behind = await enqueue('behind')
    await pool.query(`update outlay.transfer set stage = 'blocked', reason = 'reconcile' where id = $1`, [behind.id])
    expect((await inspection.stuck({ limit: 5 })).map(({ id }) => id)).toEqual([behind.id])
    // Those that were enqueued first are judged first, and show the longest wait first.
    const [first, second] = [waiting[3]?.id, waiting[700]?.id]
    for (const [id, ago] of [
      [first, '1 hour'],
      [second, '1 day'],
    ])
      await pool.query(
        `update outlay.transfer set stage = 'blocked', reason = 'reconcile', updated_at = now() - $2::interval where id = $1`,
        [id, ago],
      )
    expect((await inspection.stuck({ limit: 1 })).map(({ id }) => id)).toEqual([first])
    expect((await inspection.stuck()).map(({ id }) => id)).toEqual([second, first, behind.id])
  })

  it('counts what each account has, and names paused ones', async () => {
    const { engine, enqueue, inspection } = make()
    await enqueue()
    await enqueue()
    await enqueue('other')
    await commit((tx) => engine.accounts.pause(tx, 'idle'))
    await pool.query(`update outlay.transfer set stage = 'settled', status = 'complete' where account_id = 'other'`)
    expect(await inspection.accounts()).toMatchObject([
      { accountId: 'acme', queued: 2, paused: false },
      { accountId: 'idle', queued: 0, paused: true },
    ])
    expect(await inspection.accounts({ paused: true })).toHaveLength(1)
  })

  it('streams events without skipping those of a transaction that committed late', async () => {
    const { engine, enqueue, inspection } = make()
    await wantAll()
    const before = await enqueue('before')
    const tail = inspection.tail()
    const past = inspection.tail({ sinceMs: 60_000 })
    expect(await tail.next()).toEqual([])
    // A transaction that is open in any database of the server holds the stream up, so each read may be early.
    const first = await waitUntil(async () => (await past.next())[0], patience)
    expect(first.transferId).toBe(before.id)
    // For the same reason the first event may count as one after the start of the stream.
    const seen: string[] = []
    const poll = async () => {
      const found = (await tail.next()).map((event) => event.transferId)
      seen.push(...found.filter((id) => id !== before.id))
      return seen.length
    }
    const late = await pool.connect()
    let quick: EnqueuedTransfer
    let slow: EnqueuedTransfer
    try {
      await late.query('begin')
      slow = await engine.transfers.enqueue(late, samplePayout('slow'))
      quick = await enqueue('quick')
      // Events after the open transaction wait for it, or the order would not be final.
      expect(await poll()).toBe(0)
      await late.query('commit')
    } finally {
      await late.query('rollback')
      late.release()
    }
    await waitUntil(async () => (await poll()) >= 2, patience)
    expect(seen).toEqual([slow.id, quick.id])
    expect(await poll()).toBe(2)
    const only = inspection.tail({
      sinceMs: 60_000,
      transferId: quick.id,
      type: 'transfer.enqueued',
      accountId: 'quick',
    })
    const found = await waitUntil(async () => (await only.next())[0], patience)
    expect(found).toMatchObject({ transferId: quick.id, sequence: 1, accountId: 'quick' })
  }, 300_000)

  it('streams more events than one page has, each once', async () => {
    const { engine, inspection } = make()
    await wantAll()
    const tail = inspection.tail()
    await tail.next()
    await enqueueMany(engine, 2_300)
    const seen: string[] = []
    await waitUntil(async () => {
      seen.push(...(await tail.next()).map((event) => event.transferId))
      return seen.length >= 2_300
    }, patience)
    seen.push(...(await tail.next()).map((event) => event.transferId))
    expect(seen).toHaveLength(2_300)
    expect(new Set(seen).size).toBe(2_300)
  }, 300_000)

  it('gathers the evidence about one transfer, and none about one that is not there', async () => {
    const { engine, enqueue, inspection } = make()
    engine.subscribe('books', ['transfer.completed'], async () => undefined)
    await engine.start()
    const { id } = await enqueue()
    const twin = await enqueue()
    await drain(engine)
    expect(await inspection.evidence(id)).toMatchObject({
      transfer: { id, status: 'complete' },
      attempts: [{ attempt: 1, outcome: 'accepted' }],
      events: [{ sequence: 1 }, { sequence: 2 }, { sequence: 3, type: 'transfer.completed' }],
      deliveries: [],
      subscriptions: ['books'],
      sameRemoteId: [],
      sameRequest: [twin.id],
    })
    expect(await inspection.evidence('01J0000000000000000000000Z')).toBeUndefined()
  })

  it('names the session that keeps old rows, and the tables with their upkeep', async () => {
    const { inspection } = make()
    const holder = await pool.connect()
    await holder.query('begin isolation level repeatable read')
    const { rows: found } = await holder.query('select pg_backend_pid()::text as pid')
    const { snapshots, tables, server } = await inspection.health()
    await holder.query('rollback')
    holder.release()
    expect(snapshots.find((one) => one.name === found[0].pid)).toMatchObject({ kind: 'session' })
    expect(tables.map((table) => table.table)).toContain('outlay.transfer')
    expect(tables).toHaveLength(6)
    expect(server).toMatchObject({ autovacuum: true, readOnly: false })
    expect(Math.abs(server.clockSkewMs)).toBeLessThanOrEqual(server.clockErrorMs + 100)
  })

  it('reads live transfers by partial indexes, never the history', async () => {
    const client = await pool.connect()
    try {
      await client.query('set enable_seqscan = off')
      for (const view of [
        'stuck_transfers',
        'account_backlog',
        `transfers where stage = 'blocked' and remote_id is null and status = 'pending'`,
        `transfers where next_poll_at is not null`,
      ]) {
        const { rows: lines } = await client.query(`explain select * from outlay.${view}`)
        const plan = lines.map((line) => line['QUERY PLAN']).join('\n')
        expect(plan).not.toMatch(/Seq Scan on transfer\b|(transfer_pkey|transfer_key) .*\n(?!\s+Index Cond)/)
      }
    } finally {
      await client.query('reset enable_seqscan')
      client.release()
    }
  })

  it('documents every view and function that operators read', async () => {
    const bare = await rows(
      `select c.relname as name from pg_class c where c.relnamespace = 'outlay'::regnamespace and c.relkind = 'v'
         and obj_description(c.oid) is null
       union all
       select p.proname from pg_proc p where p.pronamespace = 'outlay'::regnamespace and obj_description(p.oid) is null
         and p.proname in ('job_id', 'queue_jobs', 'transfer_of_job', 'attempts_of', 'timeline_of')`,
    )
    expect(bare).toEqual([])
  })
})
