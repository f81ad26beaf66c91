import { setTimeout } from 'node:timers/promises'
import { Id } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { ageHeartbeats, fetchJobs, loseJobs, readJobs, removeJobs } from '../../test/queue.ts'
import { createThrottleStore } from '../limits/throttles.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createCommandStore } from '../transfers/commands.ts'
import { createTransferStore } from '../transfers/transfers.ts'
import { createAttemptStore } from './attempts.ts'

const wallet = { kind: 'wallet', name: 'Ada', address: `0x${'1'.repeat(40)}`, transferTypes: ['base'] } as const

describe('a claim', async () => {
  const { pool, driver, open, commit, enqueue, forgetRequests } = await testHost()
  const { tokens } = resolveNames({})
  const attempts = createAttemptStore(driver, tokens)

  it('leaves a transfer free to be canceled that a limit defers after its worker died while registering', async () => {
    const engine = open()
    const destination = { address: wallet, valueType: 'USDC', transferType: 'base' } as const
    const { id } = await enqueue(engine, { amount: { value: '1', currency: 'USDC' }, destination })
    await attempts.claim(await fetchJobs(pool, id), 'dead')
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: 0.01 }))
    const { id: other } = await enqueue(engine)
    expect((await attempts.claim(await fetchJobs(pool, other), 'alive')).map(({ transferId }) => transferId)).toEqual([
      other,
    ])
    expect(await attempts.claim(await fetchJobs(pool, id), 'alive')).toEqual([])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued', reason: 'account_limited' })
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'canceled' })
  })

  it('comes with the fetch of the job, as one attempt of a transfer that nothing holds', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const [job] = await attempts.fetch(10, 'worker')
    expect(job).toMatchObject({ id: Id.toUuid(id), claim: { transferId: id, accountId: 'acme', attempt: 1 } })
    expect((await readJobs(pool)).map(({ state }) => state)).toEqual(['active'])
    const log = await pool.query('select transfer_id, attempt, worker, step from outlay.attempt')
    expect(log.rows).toEqual([
      { transfer_id: id, attempt: 1, worker: expect.stringMatching(/^worker:\d+$/), step: null },
    ])
    // Its worker dies, so the outcome of the attempt is unknown.
    await loseJobs(pool)
    const [again] = await attempts.fetch(10, 'next')
    expect(again?.claim).toMatchObject({ attempt: 2, unknownSince: expect.any(String) })
    expect(await attempts.fetch(10, 'worker')).toEqual([])
  })

  it('is left to a separate statement when a host holds the transfer, and no fetch keeps the host from canceling', async () => {
    const engine = open()
    const [canceled, free] = [await enqueue(engine), await enqueue(engine, { accountId: 'other' })]
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [canceled.id])
      const fetching = attempts.fetch(10, 'worker')
      const cancelMeanwhile = () => setTimeout(200).then(() => engine.transfers.cancel(host, canceled.id))
      const [fetched] = await Promise.all([fetching, cancelMeanwhile()])
      const claimed = Object.fromEntries(fetched.map(({ id, claim }) => [Id.fromUuid(id), claim?.transferId]))
      expect(claimed).toEqual({ [canceled.id]: undefined, [free.id]: free.id })
      await host.query('commit')
      expect(
        await attempts.claim(
          fetched.filter(({ claim }) => claim === undefined),
          'worker',
        ),
      ).toEqual([])
    } finally {
      host.release(true)
    }
  })

  it('does not come with the job where an account is paused, limited, throttled or refused, or a counterparty is unknown', async () => {
    const engine = open()
    const destination = { address: wallet, valueType: 'USDC', transferType: 'base' } as const
    await enqueue(engine, { accountId: 'unregistered', amount: { value: '1', currency: 'USDC' }, destination })
    for (const accountId of ['paused', 'limited', 'throttled', 'refused', 'free']) await enqueue(engine, { accountId })
    await commit((tx) => engine.accounts.pause(tx, 'paused'))
    await commit((tx) => engine.accounts.configure(tx, 'limited', { ratePerSecond: 1 }))
    await pool.query(`insert into outlay.account_throttle (account_id) values ('throttled')`)
    await pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('refused', now())`)
    await loseJobs(pool)
    const fetched = await attempts.fetch(10, 'worker')
    expect(fetched).toHaveLength(6)
    expect(fetched.flatMap(({ claim }) => claim?.accountId ?? [])).toEqual(['free'])
    expect((await pool.query('select 1 from outlay.attempt')).rowCount).toBe(1)
  })

  it('is kept alive by its worker alone, which waits for no settlement of one', async () => {
    const engine = open()
    for (const accountId of ['acme', 'other']) await enqueue(engine, { accountId })
    const fetched = await attempts.fetch(2, 'worker')
    const [settled, free] = fetched.map(({ id }) => id)
    const age = () => ageHeartbeats(pool, '9 seconds')
    const alive = async () =>
      (await readJobs(pool)).flatMap((job) => ((job.secondsSinceHeartbeat ?? 9) < 5 ? [Id.toUuid(job.transferId)] : []))
    await age()
    const settler = await pool.connect()
    try {
      await settler.query('begin')
      await removeJobs(settler, Id.fromUuid(settled ?? ''))
      await attempts.touch(fetched)
      await settler.query('rollback')
    } finally {
      settler.release(true)
    }
    expect(await alive()).toEqual([free])
    await age()
    await attempts.touch(fetched.map((job) => ({ ...job, retryCount: job.retryCount + 1 })))
    expect(await alive()).toEqual([])
    await attempts.touch(fetched)
    expect(await alive()).toHaveLength(2)
  })

  it('waits for no transaction of a host: what it has locked comes again soon, and the rest is claimed', async () => {
    const engine = open()
    const [locked, free] = [await enqueue(engine), await enqueue(engine, { accountId: 'other' })]
    expect(await attempts.fetch(0, 'worker')).toEqual([])
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [locked.id])
      expect(await attempts.claim(await fetchJobs(pool, locked.id, free.id), 'worker')).toMatchObject([
        { transferId: free.id },
      ])
      const states = (await readJobs(pool)).map(({ state, dueAt }) => [state, dueAt > new Date()])
      expect(states).toEqual([
        ['waiting', true],
        ['active', false],
      ])
      await host.query('rollback')
      expect(await attempts.claim(await fetchJobs(pool, locked.id), 'worker')).toMatchObject([
        { transferId: locked.id },
      ])
    } finally {
      host.release(true)
    }
  })

  it('does not wait for a host that retries credentials in an open transaction; the probe comes later', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now())`)
    const host = await pool.connect()
    try {
      await host.query('begin')
      await engine.accounts.retryCredentials(host, 'acme')
      expect(await attempts.claim(await fetchJobs(pool, id), 'worker')).toEqual([])
      await host.query('commit')
    } finally {
      host.release(true)
    }
    expect(await engine.transfers.get(id)).toMatchObject({ reason: 'unauthenticated' })
    expect(await attempts.claim(await fetchJobs(pool, id), 'worker')).toMatchObject([
      { transferId: id, reason: 'unauthenticated' },
    ])
  })

  it('leaves no slot behind when its transfer went back to wait and was canceled', async () => {
    const engine = open()
    await commit((tx) => engine.accounts.configure(tx, 'acme', { concurrency: 1 }))
    const [first, second] = [await enqueue(engine), await enqueue(engine)]
    await attempts.claim(await fetchJobs(pool, first.id), 'dead')
    await commit((tx) => createCommandStore(driver, tokens).pause(tx, 'acme', {}))
    await pool.query(`update outlay.transfer set stage = 'queued' where id = $1`, [first.id])
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, first.id))
    await commit((tx) => engine.accounts.resume(tx, 'acme'))
    await attempts.claim(await fetchJobs(pool, second.id), 'alive')
    await createThrottleStore(driver, tokens).forget()
    const slots = await pool.query('select transfer_id from outlay.submission_slot')
    expect(slots.rows).toEqual([{ transfer_id: second.id }])
  })

  it('leaves a job that the sweep finds in place untouched, and one that is missing comes back at its time', async () => {
    const engine = open()
    const notBefore = new Date(Date.now() + 86_400_000)
    const [there, early] = [await enqueue(engine), await enqueue(engine, { notBefore })]
    await removeJobs(pool, early.id)
    await pool.query(`update outlay.transfer set updated_at = now() - interval '1 minute'`)
    const before = await readJobs(pool)
    const ids = await attempts.unsubmittedAfter('', 10)
    expect(ids).toEqual([there.id, early.id])
    expect(await attempts.ensureJobs(ids)).toBe(1)
    const [same, again] = await readJobs(pool)
    expect(same).toMatchObject({ lockedBy: '0', version: before[0]?.version, dueAt: before[0]?.dueAt })
    expect(again?.dueAt).toEqual(notBefore)
  })

  it('and a pause over many transfers leave the sweep for resumed accounts nothing but those', async () => {
    const engine = open()
    const store = createTransferStore(driver, tokens)
    const [paused, resumed] = [
      await enqueue(engine, { accountId: 'paused' }),
      await enqueue(engine, { accountId: 'resumed' }),
    ]
    for (const account of ['paused', 'resumed']) await commit((tx) => engine.accounts.pause(tx, account))
    await attempts.claim(await fetchJobs(pool, paused.id, resumed.id), 'worker')
    await pool.query(`update outlay.account set paused = false where account_id = 'resumed'`)
    await loseJobs(pool)
    expect(await store.releaseResumed()).toBe(1)
    expect(await engine.transfers.get(resumed.id)).toMatchObject({ reason: null })
    expect(await engine.transfers.get(paused.id)).toMatchObject({ reason: 'account_paused' })
    expect(await store.releaseResumed()).toBe(0)
  })
})
