import { type EnqueueRequest, Id, type SubmitResult } from '@outlay/core'
import type { Settlement } from '@outlay/core/adapter'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../test/host.ts'
import { samplePayout } from '../test/outbox.ts'
import { ageHeartbeats, deferJobs, fetchJobs, readJobs } from '../test/queue.ts'
import { createAttemptStore } from './dispatch/attempts.ts'
import { pgDriver } from './drivers/pg.ts'
import { createCredentialStore } from './limits/credentials.ts'
import { createThrottleStore } from './limits/throttles.ts'
import { resolveNames } from './schema/database-names.ts'

/** A host's transaction that stays open, and the transfer of its account that it is about. */
interface Hold {
  readonly host: pg.PoolClient
  readonly engine: HostEngine
  readonly id: string
  readonly remoteId: string
}

const lock = (strength: string) => (at: Hold) =>
  at.host.query(`select 1 from outlay.transfer where account_id = 'held' for ${strength}`)

/** What a host may do and not commit. `stage` is the stage of its account's transfers by then. */
const holds: Readonly<Record<string, { readonly stage: string; readonly hold: (at: Hold) => Promise<unknown> }>> = {
  'a row with a foreign key': {
    stage: 'queued',
    hold: ({ host, id }) => host.query('insert into host_payout (transfer_id) values ($1)', [id]),
  },
  'a row with a foreign key to a submitted one': {
    stage: 'submitted',
    hold: ({ host, id }) => host.query('insert into host_payout (transfer_id) values ($1)', [id]),
  },
  'a lock for update': { stage: 'queued', hold: lock('update') },
  'a lock for update of a submitted one': { stage: 'submitted', hold: lock('update') },
  'a shared lock': { stage: 'queued', hold: lock('share') },
  'a cancel': { stage: 'queued', hold: ({ engine, host, id }) => engine.transfers.cancel(host, id) },
  'a cancel of one that a limit defers': {
    stage: 'limited',
    hold: ({ engine, host, id }) => engine.transfers.cancel(host, id),
  },
  'a release': { stage: 'awaiting_funds', hold: ({ engine, host, id }) => engine.transfers.release(host, id) },
  'the arrival of funds': {
    stage: 'awaiting_funds',
    hold: ({ engine, host }) => engine.accounts.fundsArrived(host, 'held'),
  },
  'a pause': { stage: 'queued', hold: ({ engine, host }) => engine.accounts.pause(host, 'held') },
  'a resume': { stage: 'paused', hold: ({ engine, host }) => engine.accounts.resume(host, 'held') },
  'a retry of credentials': {
    stage: 'refused',
    hold: ({ engine, host }) => engine.accounts.retryCredentials(host, 'held'),
  },
  'a change of limits': {
    stage: 'queued',
    hold: ({ engine, host }) => engine.accounts.configure(host, 'held', { ratePerSecond: 5 }),
  },
  'an enqueue': { stage: 'queued', hold: ({ engine, host }) => engine.transfers.enqueue(host, samplePayout('held')) },
  'an end of watching': {
    stage: 'watched',
    hold: ({ engine, host }) => engine.accounts.unwatch(host, 'held'),
  },
  'an observation of a submitted one': {
    stage: 'submitted',
    hold: ({ engine, host, remoteId }) =>
      engine.transfers.observe(host, 'held', [{ remoteId, status: 'processing', failure: null }]),
  },
  'an early observation': {
    stage: 'submitted',
    hold: ({ engine, host }) =>
      engine.transfers.observe(host, 'held', [{ remoteId: 'remote-9', status: 'complete', failure: null }]),
  },
}

/** The outcome of an attempt that the service accepted. */
const accepted = ({
  transferId,
  attempt,
  claimedBy,
  claimedAt,
}: Pick<Settlement, 'transferId' | 'attempt' | 'claimedBy' | 'claimedAt'>): Settlement => ({
  ...{ transferId, attempt, claimedBy, claimedAt },
  stage: 'submitted',
  status: 'pending',
  failure: null,
  remoteId: `remote-${transferId}`,
  reason: null,
  unknownSince: null,
  credentials: 'good',
  credentialRefusals: 0,
  reachedAt: null,
  throttledForMs: null,
  retryAfterMs: null,
  pollAfterMs: 60_000,
  events: [{ type: 'transfer.submitted' }],
  answer: { outcome: 'accepted', detail: null, httpStatus: 201, requestId: null },
})

describe('a transaction of a host that stays open', async () => {
  const { pool, driver, open, commit } = await testHost({ max: 60 })

  beforeAll(async () => {
    await pool.query('create table host_payout (transfer_id text not null references outlay.transfer (id))')
  })

  function make() {
    const gateway = memoryGateway({ status: 'processing' })
    const answer: { held: SubmitResult | undefined } = { held: undefined }
    gateway.script(({ accountId }) => (accountId === 'held' ? answer.held : undefined))
    const engine = open({ gateway, polling: { maxDelayMs: 50 } })
    const received: string[] = []
    engine.subscribe('books', ['transfer.completed'], async ({ transferId }, tx) => {
      // Hosts write their own rows beside the events that they receive.
      await tx.query('insert into host_payout (transfer_id) values ($1)', [transferId])
      received.push(transferId)
    })
    const complete = (accountId?: string) => {
      for (const [remoteId, { submission }] of gateway.transfers) {
        if (accountId === undefined ? submission.accountId !== 'held' : submission.accountId === accountId)
          gateway.setStatus(remoteId, 'complete')
      }
    }
    return { engine, gateway, answer, received, complete }
  }
  const enqueue = (engine: HostEngine, accountId: string, overrides: Partial<EnqueueRequest> = {}) =>
    commit((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, overrides)))
  const stagesOf = async (accountId: string) =>
    (await pool.query('select stage, reason from outlay.transfer where account_id = $1', [accountId])).rows

  /** Two transfers of the account, at that stage. */
  async function bringTo(stage: string, { engine, answer }: ReturnType<typeof make>): Promise<string> {
    if (stage === 'paused') await commit((tx) => engine.accounts.pause(tx, 'held'))
    if (stage === 'limited') await commit((tx) => engine.accounts.configure(tx, 'held', { ratePerSecond: 0.01 }))
    if (stage === 'watched') await commit((tx) => engine.accounts.watch(tx, 'held'))
    if (stage === 'awaiting_funds') answer.held = { outcome: 'insufficient_balance', detail: 'short' }
    if (stage === 'refused') answer.held = { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 }
    const [first] = [await enqueue(engine, 'held'), await enqueue(engine, 'held')]
    const reasons = { paused: 'account_paused', limited: 'account_limited', refused: 'unauthenticated' }
    if (stage !== 'queued' && stage !== 'watched') {
      await engine.start()
      await waitUntil(async () =>
        (await stagesOf('held')).some(
          (row) => row.stage === stage || (stage in reasons && row.reason === reasons[stage as 'paused']),
        ),
      )
      await engine.stop()
    }
    const waiting = await pool.query(
      `select id from outlay.transfer where account_id = 'held' and stage <> 'settled' order by reason is null, id limit 1`,
    )
    return stage === 'limited' ? waiting.rows[0].id : first.id
  }

  it.each(Object.keys(holds))('with %s keeps nothing of three other accounts', async (kind) => {
    const { stage, hold } = holds[kind] as (typeof holds)[string]
    const scene = make()
    const { engine, answer, received, complete } = scene
    const id = await bringTo(stage, scene)
    const host = await pool.connect()
    try {
      await host.query('begin')
      const remoteId = (await engine.transfers.get(id))?.remoteId ?? ''
      await hold({ host, engine, id, remoteId })
      await engine.start({ concurrency: 4 })
      const others = ['a', 'b', 'c']
      const ids: string[] = []
      for (const accountId of [...others, ...others, ...others]) ids.push((await enqueue(engine, accountId)).id)
      const isDone = async () => {
        complete()
        return ids.every((one) => received.includes(one))
      }
      await waitUntil(isDone)
      const { rows } = await pool.query(
        `select distinct stage, status, attempt from outlay.transfer where account_id <> 'held'`,
      )
      expect(rows).toEqual([{ stage: 'settled', status: 'complete', attempt: 1 }])
      // No deadlock ended the host's transaction.
      await host.query('commit')
    } finally {
      host.release(true)
    }
    answer.held = undefined
    await commit((tx) => engine.accounts.configure(tx, 'held', { ratePerSecond: null }))
    await commit((tx) => engine.accounts.resume(tx, 'held'))
    await commit((tx) => engine.accounts.fundsArrived(tx, 'held'))
    await commit((tx) => engine.accounts.retryCredentials(tx, 'held'))
    await waitUntil(async () => {
      complete('held')
      return (await stagesOf('held')).every((row) => row.stage === 'settled')
    })
  })

  it('with a foreign key holds up not even its own transfer', async () => {
    const { engine, received, complete } = make()
    const { id } = await enqueue(engine, 'held')
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('insert into host_payout (transfer_id) values ($1)', [id])
      await engine.start()
      await waitUntil(() => {
        complete('held')
        return received.includes(id)
      })
      await host.query('commit')
    } finally {
      host.release(true)
    }
  })

  it('keeps one answer from being written, which is written later from the same attempt, and its job alive', async () => {
    const { engine, gateway, received, complete } = make()
    const host = await pool.connect()
    const heartbeat = async () => (await readJobs(pool, held.id))[0]?.heartbeatAt as Date
    gateway.script(async ({ transferId }) => {
      if (transferId === held.id) await host.query('select 1 from outlay.transfer where id = $1 for update', [held.id])
      return undefined
    })
    const held = await enqueue(engine, 'held')
    try {
      await host.query('begin')
      await engine.start({ concurrency: 1 })
      await waitUntil(() => gateway.transfers.size === 1)
      const others = await Promise.all(['a', 'b', 'c', 'a', 'b', 'c'].map((accountId) => enqueue(engine, accountId)))
      await waitUntil(() => {
        complete()
        return others.every(({ id }) => received.includes(id))
      })
      expect(await engine.transfers.get(held.id)).toMatchObject({ stage: 'submitting', attempt: 1 })
      const before = await heartbeat()
      await waitUntil(async () => (await heartbeat()) > before)
      await host.query('commit')
    } finally {
      host.release(true)
    }
    await waitUntil(() => {
      complete('held')
      return received.includes(held.id)
    })
    expect(await engine.transfers.get(held.id)).toMatchObject({ stage: 'settled', attempt: 1 })
    expect(gateway.submissions.filter(({ transferId }) => transferId === held.id)).toHaveLength(1)
  })

  it('that cancels one whose worker is gone keeps no job of others from coming back', async () => {
    const { engine, gateway } = make()
    const held = await enqueue(engine, 'held')
    for (const accountId of ['a', 'b']) await enqueue(engine, accountId)
    // Fetched by a worker that was killed before it claimed their transfers.
    await fetchJobs(pool)
    await ageHeartbeats(pool, '1 minute')
    const host = await pool.connect()
    try {
      await host.query('begin')
      await engine.transfers.cancel(host, held.id)
      await engine.start()
      await waitUntil(() => gateway.transfers.size === 2)
      await host.query('rollback')
    } finally {
      host.release(true)
    }
    await waitUntil(() => gateway.transfers.size === 3)
  })

  it('that retries credentials keeps no answer from being written, nor the one that finds them good', async () => {
    const { engine } = make()
    const attempts = createAttemptStore(pgDriver(pool), resolveNames({}).tokens)
    const [probe, free] = [await enqueue(engine, 'held'), await enqueue(engine, 'a')]
    await pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('held', now())`)
    const fetched = await attempts.fetch(2, 'worker')
    const unclaimed = fetched.filter(({ claim }) => claim === undefined)
    expect(unclaimed.map(({ id }) => id)).toEqual([Id.toUuid(probe.id)])
    const rest = await attempts.claim(unclaimed, 'worker')
    const claims = [...rest, ...fetched.flatMap(({ claim }) => claim ?? [])]
    expect(claims.map(({ transferId }) => transferId)).toEqual([probe.id, free.id])
    const host = await pool.connect()
    try {
      await host.query('begin')
      await engine.accounts.retryCredentials(host, 'held')
      const results = await attempts.settle(claims.map(accepted))
      expect([...results.values()]).toEqual(['settled', 'settled'])
      // Rows that the host has locked are not deleted, and no worker waits to delete them.
      await createCredentialStore(pgDriver(pool), resolveNames({}).tokens).forgetUnused()
      await host.query('commit')
    } finally {
      host.release(true)
    }
    expect((await pool.query('select account_id from outlay.unauthorized_account')).rowCount).toBe(1)
  })

  it('that cancels one of those that wait for permits leaves the permits to the others', async () => {
    const { engine } = make()
    const [canceled, other] = [await enqueue(engine, 'held'), await enqueue(engine, 'held'), await enqueue(engine, 'a')]
    await pool.query(`update outlay.transfer set reason = 'account_limited'`)
    await deferJobs(pool, '10 years')
    await pool.query(`insert into outlay.account_throttle (account_id, waiting) values ('held', true), ('a', true)`)
    const host = await pool.connect()
    try {
      await host.query('begin')
      await engine.transfers.cancel(host, canceled.id)
      const released = await createThrottleStore(driver, resolveNames({}).tokens).release()
      expect(released).toMatchObject([
        { accountId: 'a', released: 1 },
        { accountId: 'held', released: 1 },
      ])
      await host.query('commit')
    } finally {
      host.release(true)
    }
    expect(await readJobs(pool, other.id)).toMatchObject([{ isDue: true }])
  })

  it('that cancels the oldest of those that wait for permits holds up none behind it, one permit at a time', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.configure(tx, 'held', { concurrency: 1 }))
    const [canceled] = [await enqueue(engine, 'held'), await enqueue(engine, 'held'), await enqueue(engine, 'held')]
    await pool.query(`update outlay.transfer set reason = 'account_limited'`)
    await deferJobs(pool, '10 years')
    await pool.query(`insert into outlay.account_throttle (account_id, waiting) values ('held', true)`)
    const host = await pool.connect()
    try {
      await host.query('begin')
      await engine.transfers.cancel(host, canceled.id)
      await engine.start()
      await waitUntil(() => gateway.transfers.size === 2)
      await host.query('rollback')
    } finally {
      host.release(true)
    }
    // It was not forgotten meanwhile.
    await waitUntil(() => gateway.transfers.size === 3)
  })

  it('leaves every other outcome of the same batch to be written, and reports which was not', async () => {
    const { engine } = make()
    const attempts = createAttemptStore(pgDriver(pool), resolveNames({}).tokens)
    const [held, free] = [await enqueue(engine, 'held'), await enqueue(engine, 'a')]
    const fetched = await attempts.fetch(2, 'worker')
    const claims = fetched.flatMap(({ claim }) => claim ?? [])
    expect(claims.map(({ transferId }) => transferId).sort()).toEqual([held.id, free.id].sort())
    const outcomes = claims.map(accepted)
    const now = new Date()
    const gone = accepted({
      transferId: Id.lowest(now),
      attempt: 1,
      claimedBy: 'worker:1',
      claimedAt: now.toISOString(),
    })
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [held.id])
      expect(Object.fromEntries(await attempts.settle([...outcomes, gone]))).toEqual({
        [`${held.id} 1`]: 'locked',
        [`${free.id} 1`]: 'settled',
        [`${gone.transferId} 1`]: 'gone',
      })
      const log = await pool.query('select outcome from outlay.attempt where transfer_id = $1', [held.id])
      expect(log.rows).toEqual([{ outcome: null }])
      await host.query('rollback')
    } finally {
      host.release(true)
    }
    expect(Object.fromEntries(await attempts.settle(outcomes))).toEqual({
      [`${held.id} 1`]: 'settled',
      [`${free.id} 1`]: 'stale',
    })
  })
})
