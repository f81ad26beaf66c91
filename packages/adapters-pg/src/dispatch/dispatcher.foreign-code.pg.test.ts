import type { Gateway, Observation, SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type OpenOptions, reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'

/** Never settles, whatever the signal. */
const forever = () => new Promise<never>(() => undefined)

describe('code that is not ours', async () => {
  const { pool, open, commit, enqueueMany, outcomes } = await testHost()

  const make = (options: OpenOptions) => open({ fraction: 0.05, ...options })
  const countOf = async (where: string) =>
    Number((await pool.query(`select count(*) as count from outlay.transfer where ${where}`)).rows[0].count)

  it('that hangs in one account leaves the others their slots', async () => {
    const gateway = memoryGateway()
    gateway.script(({ accountId }) => (accountId === 'hangs' ? forever() : undefined))
    const engine = make({ gateway })
    await enqueueMany(engine, 1_000, 'hangs')
    const others = ['quick-1', 'quick-2', 'quick-3']
    for (const account of others) await enqueueMany(engine, 50, account)
    await engine.start({ concurrency: 8, slowAfterMs: 200, stopTimeoutMs: 0 })
    await waitUntil(async () => (await countOf(`account_id <> 'hangs' and stage = 'settled'`)) === 150, {
      timeoutMs: 60_000,
    })
    // Those of the account that hangs wait like those of one that is throttled.
    expect((await engine.accounts.get('hangs')).throttledRatePerSecond).not.toBeNull()
    expect(gateway.submissions.filter(({ accountId }) => accountId === 'hangs').length).toBeLessThanOrEqual(32)
  })

  it('that hangs in a submission leaves its outcome unknown, and the same key goes out again', async () => {
    const gateway = memoryGateway()
    const signals: AbortSignal[] = []
    const hanging: Gateway = {
      get: (...read) => gateway.get(...read),
      submit(submission, options) {
        signals.push(options.signal)
        return signals.length === 1 ? forever() : gateway.submit(submission, options)
      },
    }
    const engine = make({ gateway: hanging, timeouts: { submitMs: 50 } })
    const [first] = await enqueueMany(engine, 1, 'acme')
    const id = first?.id ?? ''
    await engine.start({ concurrency: 1 })
    await reach(engine, id, { stage: 'settled' })
    expect(signals[0]?.aborted).toBe(true)
    expect(await outcomes(id)).toEqual([
      { outcome: 'unknown', detail: 'submit gave no answer within 50 ms' },
      { outcome: 'accepted', detail: null },
    ])
    const { rows } = await pool.query('select submission_key from outlay.transfer where id = $1', [id])
    expect(gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)).toEqual([rows[0]?.submission_key])
  })

  it('that hangs in reads of many accounts delays the statuses of no other', async () => {
    const gateway = memoryGateway({ status: 'pending' })
    const engine = make({
      gateway: {
        submit: (...sent) => gateway.submit(...sent),
        get: (accountId, ...read) => (accountId.startsWith('slow') ? forever() : gateway.get(accountId, ...read)),
      },
      polling: { maxDelayMs: 20 },
    })
    const slow = Array.from({ length: 40 }, (_, index) => `slow-${index}`)
    for (const account of [...slow, 'quick']) await enqueueMany(engine, 1, account)
    await engine.start({ slowAfterMs: 100, stopTimeoutMs: 0 })
    await waitUntil(async () => (await countOf(`stage = 'submitted'`)) === 41)
    for (const [remoteId, { submission }] of gateway.transfers) {
      if (submission.accountId === 'quick') gateway.setStatus(remoteId, 'complete')
    }
    await waitUntil(async () => (await countOf(`account_id = 'quick' and stage = 'settled'`)) === 1)
    await enqueueMany(engine, 1, 'late')
    await waitUntil(() => gateway.transfers.size === 42)
    gateway.setStatus('remote-42', 'complete')
    await waitUntil(async () => (await countOf(`account_id = 'late' and stage = 'settled'`)) === 1)
  })

  it('that hangs in lists of watched accounts delays no other', async () => {
    const listed = new Set<string>()
    const gateway: Gateway = {
      submit: forever,
      get: forever,
      async list(accountId) {
        listed.add(accountId)
        return accountId.startsWith('slow') ? forever() : { observations: [] }
      },
    }
    const engine = make({ gateway })
    const accounts = [...Array.from({ length: 30 }, (_, index) => `slow-${index}`), 'quick']
    for (const account of accounts) await commit((tx) => engine.accounts.watch(tx, account))
    await engine.start({ slowAfterMs: 50, stopTimeoutMs: 0 })
    await waitUntil(() => listed.has('quick'), { timeoutMs: 20_000 })
  })

  it('that answers nonsense for one transfer harms only that one, which goes out again', async () => {
    const gateway = memoryGateway()
    const engine = make({ gateway })
    const nonsense: unknown[] = [{}, undefined, { outcome: 'accepted', remoteId: 5n }, { outcome: 'kept_for_review' }]
    const [bad] = await enqueueMany(engine, 1, 'acme')
    await enqueueMany(engine, 20, 'acme')
    const scripted: Gateway = {
      get: (...read) => gateway.get(...read),
      submit: async (submission, options) =>
        submission.transferId === bad?.id && nonsense.length > 0
          ? (nonsense.shift() as SubmitResult)
          : gateway.submit(submission, options),
    }
    const other = make({ gateway: scripted })
    await other.start()
    await waitUntil(async () => (await countOf(`stage = 'settled'`)) === 21, { timeoutMs: 20_000 })
    const received = (await outcomes(bad?.id ?? '')).map(({ outcome }) => outcome)
    expect(received).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'accepted'])
  })

  it('that lists an entry that is no observation loses that one, and no other of its page', async () => {
    const gateway = listedGateway()
    const spoiled: Readonly<Record<string, object>> = {
      'remote-1': { status: 'paid' },
      'remote-2': { status: 'failed', failure: { code: 5n } },
      'remote-3': { remoteId: 'remote-3\0' },
    }
    const spoil = (seen: Observation): Observation => ({ ...seen, ...spoiled[seen.remoteId] })
    const engine = make({
      gateway: {
        submit: (...sent) => gateway.submit(...sent),
        get: async () => undefined,
        async list(accountId, options) {
          const page = await gateway.list?.(accountId, options)
          return { observations: (page?.observations ?? []).map(spoil) }
        },
      },
    })
    await enqueueMany(engine, 20, 'acme')
    await engine.start()
    await waitUntil(async () => (await countOf(`stage = 'submitted'`)) === 20)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
    // The next poll of a payout by ACH is hours away.
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await waitUntil(async () => (await countOf(`stage = 'settled'`)) === 17)
    expect(await countOf(`remote_id in ('remote-1', 'remote-2', 'remote-3') and stage = 'submitted'`)).toBe(3)
  })

  it('gives no observation that would break a host transaction: it is refused by name, before any SQL', async () => {
    const engine = make({ gateway: memoryGateway() })
    const good = { remoteId: 'r1', status: 'complete', failure: null } as const
    const bad = [good, { ...good, status: 'paid' }, { ...good, remoteId: 'r\0' }] as unknown as Observation[]
    const rows = await commit(async (tx) => {
      await expect(engine.transfers.observe(tx, 'acme', bad)).rejects.toMatchObject({
        code: 'invalid_request',
        field: '1.status',
        issues: [{ field: '1.status' }, { field: '2.remoteId' }],
      })
      return (await tx.query('select 1 as one')).rows
    })
    expect(rows).toEqual([{ one: 1 }])
  })

  it('gives no moment that would break a host transaction', async () => {
    const engine = make({ gateway: memoryGateway() })
    await commit(async (tx) => {
      for (const notBefore of ['1', '2026', '2026-02-30T00:00:00Z', '+012026-01-01T00:00:00Z', new Date(8.64e15), 5]) {
        const request = samplePayout('acme', { notBefore: notBefore as string })
        await expect(engine.transfers.enqueue(tx, request)).rejects.toMatchObject({ field: 'notBefore' })
      }
      for (const since of ['1', new Date(8.64e15), new Date(Number.NaN)]) {
        await expect(engine.accounts.watch(tx, 'acme', { since })).rejects.toMatchObject({ field: 'since' })
      }
      await engine.transfers.enqueue(tx, samplePayout('acme', { expiresAt: '9999-12-31T23:59:59.999Z' }))
    })
    expect(await countOf('true')).toBe(1)
  })
})
