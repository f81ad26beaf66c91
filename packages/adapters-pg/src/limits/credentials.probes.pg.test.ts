import type { SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { fetchingUntil } from '../../test/held-requests.ts'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { deferJobs, loseJobs, removeJobs } from '../../test/queue.ts'

const { pool, driver, open, commit } = await testHost({ max: 40 })

describe('a probe of refused credentials', () => {
  it('is never a transfer that may not be sent because its client has changed', async () => {
    let client = 'first'
    const memory = memoryGateway()
    let answer: SubmitResult | undefined = { outcome: 'unknown', detail: 'a page', httpStatus: 400 }
    memory.script(() => answer)
    const engine = open({ gateway: { ...memory, identify: async () => client }, fraction: 0.9 })
    const enqueue = () => commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    const stored = async (id: string) => {
      const { rows } = await pool.query('select reason, attempt from outlay.transfer where id = $1', [id])
      return rows[0] as { readonly reason: string | null; readonly attempt: number }
    }
    const changed = await enqueue()
    await engine.start()
    await waitUntil(async () => (await stored(changed.id)).reason === 'outcome_unknown')
    client = 'second'
    answer = { outcome: 'unauthorized', detail: 'HTTP 403', httpStatus: 403 }
    await waitUntil(async () => (await stored(changed.id)).reason === 'client_changed')
    const other = await enqueue()
    await waitUntil(async () => (await stored(other.id)).reason === 'unauthenticated')
    answer = undefined
    const [{ attempt }, before] = [await stored(changed.id), await stored(other.id)]
    // The job of the one is due at the moment at which the account is due for a probe, which the other one waits for.
    await commit(async (tx) => {
      await tx.query('update outlay.unauthorized_account set probe_at = now()')
      await loseJobs(tx, changed.id)
    })
    await waitUntil(async () => (await stored(other.id)).attempt > before.attempt, { timeoutMs: 60_000 })
    expect((await stored(changed.id)).attempt).toBeLessThanOrEqual(attempt + 1)
  })

  it('is not a transfer that has lost its job while another one waits', async () => {
    const memory = memoryGateway()
    let isRefused = true
    memory.script(() => (isRefused ? { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 } : undefined))
    // No sweep gives the lost one a job again.
    const engine = open({ gateway: memory, driver: fetchingUntil(driver, () => false, [`interval '15 seconds'`]) })
    const enqueue = () => commit((tx) => engine.transfers.enqueue(tx, samplePayout('lost-job')))
    const ids = [(await enqueue()).id, (await enqueue()).id, (await enqueue()).id]
    const states = async () => {
      const { rows } = await pool.query(
        'select id, stage, reason from outlay.transfer where id = any ($1) order by id',
        [ids],
      )
      return rows as readonly { readonly id: string; readonly stage: string; readonly reason: string | null }[]
    }
    await engine.start()
    await waitUntil(async () => (await states()).every(({ reason }) => reason === 'unauthenticated'))
    isRefused = false
    const [lost, ...others] = (await states()).map(({ id }) => id)
    await removeJobs(pool, lost ?? '')
    await pool.query(
      `update outlay.unauthorized_account set probe_at = clock_timestamp(), probed_id = null where account_id = 'lost-job'`,
    )
    const waiting = async () => (await states()).filter(({ stage }) => stage === 'queued').map(({ id }) => id)
    await waitUntil(async () => !(await waiting()).some((id) => others.includes(id)))
    expect(await waiting()).toEqual([lost])
  })

  it('is not again the transfer whose outcome stays unknown while another one waits', async () => {
    const memory = memoryGateway()
    let isRefused = true
    const unknownIds: string[] = []
    memory.script(({ transferId }) => {
      if (unknownIds.includes(transferId)) return { outcome: 'unknown', detail: 'HTTP 502', httpStatus: 502 }
      return isRefused ? { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 } : undefined
    })
    const engine = open({ gateway: memory })
    const enqueue = () => commit((tx) => engine.transfers.enqueue(tx, samplePayout('one-unknown')))
    const stored = async (id: string) => {
      const { rows } = await pool.query('select stage, reason, attempt from outlay.transfer where id = $1', [id])
      return rows[0] as { readonly stage: string; readonly reason: string | null; readonly attempt: number }
    }
    const other = (await enqueue()).id
    await engine.start()
    await waitUntil(async () => (await stored(other)).reason === 'unauthenticated')
    const { id } = await commit(async (tx) => {
      const enqueued = await engine.transfers.enqueue(tx, samplePayout('one-unknown'))
      unknownIds.push(enqueued.id)
      return enqueued
    })
    // The one probes, and its outcome is unknown: from now on it has a timer of its own.
    await waitUntil(async () => (await stored(id)).reason === 'outcome_unknown', { timeoutMs: 60_000 })
    const before = (await stored(id)).attempt
    isRefused = false
    await commit(async (tx) => {
      await tx.query(
        `update outlay.unauthorized_account set probe_at = now(), probed_id = $1 where account_id = 'one-unknown'`,
        [id],
      )
      await loseJobs(tx, id)
    })
    await waitUntil(async () => (await stored(other)).stage !== 'queued')
    // It is sent again by its own timer, too.
    expect((await stored(id)).attempt).toBeLessThanOrEqual(before + 3)
  })

  it('is not kept waiting by a thousand accounts that have nothing to probe with', async () => {
    const memory = memoryGateway()
    let answer: SubmitResult | undefined = { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 }
    memory.script(() => answer)
    const engine = open({ gateway: memory })
    await pool.query(
      `insert into outlay.unauthorized_account (account_id, probe_at)
       select 'gone-' || n, clock_timestamp() - interval '1 hour' from generate_series(1, 1000) n`,
    )
    await engine.start()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('behind')))
    const stored = async () => await engine.transfers.get(id)
    await waitUntil(async () => (await stored())?.reason === 'unauthenticated')
    answer = undefined
    await pool.query(`update outlay.unauthorized_account set probe_at = clock_timestamp() where account_id = 'behind'`)
    await waitUntil(async () => (await stored())?.stage !== 'queued')
    await pool.query(`delete from outlay.unauthorized_account`)
  })

  it('restores the credentials though a transfer that was not sent is settled with it', async () => {
    const memory = memoryGateway()
    memory.script(() => ({ outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 }))
    const engine = open({ gateway: memory })
    const enqueue = () => commit((tx) => engine.transfers.enqueue(tx, samplePayout('together')))
    const ids = [(await enqueue()).id, (await enqueue()).id].sort()
    await engine.start()
    const refused = `select 1 from outlay.transfer where id = any ($1) and reason = 'unauthenticated'`
    await waitUntil(async () => (await pool.query(refused, [ids])).rows.length === 2)
    await engine.stop()
    await pool.query(
      `update outlay.transfer set stage = 'submitting', attempt = 7, reason = null where id = any ($1)`,
      [ids],
    )
    await pool.query(
      `update outlay.unauthorized_account set refusals = 1, probed_id = $1 where account_id = 'together'`,
      [ids[1]],
    )
    const settlements = [null, 'good'].map((credentials, index) => ({
      ...{ id: ids[index], job: '00000000-0000-0000-0000-000000000001', attempt: 7, refusals: 1, credentials },
      ...{ outcome: 'throttled', stage: 'queued', status: 'pending', failure: null, retry_ms: 1_000, events: [] },
    }))
    await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify(settlements)])
    const { rows } = await pool.query(`select 1 from outlay.unauthorized_account where account_id = 'together'`)
    expect(rows).toEqual([])
  })

  it('passes a transfer that waits for a permit and that a host has locked', async () => {
    const memory = memoryGateway()
    let isRefused = true
    memory.script(() => (isRefused ? { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 } : undefined))
    const engine = open({ gateway: memory })
    await commit((tx) => engine.accounts.configure(tx, 'bounded', { concurrency: 2 }))
    const enqueue = () => commit((tx) => engine.transfers.enqueue(tx, samplePayout('bounded')))
    const [limited = '', ...others] = [(await enqueue()).id, (await enqueue()).id, (await enqueue()).id].sort()
    const waiting = async () => {
      const { rows } = await pool.query(
        `select id from outlay.transfer where id = any ($1) and stage = 'queued' and reason = 'unauthenticated'`,
        [others],
      )
      return rows.length
    }
    await engine.start()
    await waitUntil(async () => (await waiting()) === 2)
    await engine.stop()
    isRefused = false
    await pool.query(`update outlay.transfer set stage = 'queued', reason = 'account_limited' where id = $1`, [limited])
    const bounded = await pool.query(`select id from outlay.transfer where account_id = 'bounded'`)
    await deferJobs(pool, '10 years', ...bounded.rows.map((row) => row.id))
    await pool.query(`update outlay.account_throttle set waiting = true where account_id = 'bounded'`)
    await pool.query(`update outlay.unauthorized_account set probe_at = clock_timestamp() where account_id = 'bounded'`)
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [limited])
      await engine.start()
      const isSent = async (id: string) => (await engine.transfers.get(id))?.remoteId != null
      await waitUntil(async () => (await isSent(others[0] ?? '')) && (await isSent(others[1] ?? '')), {
        timeoutMs: 30_000,
      })
      expect(await isSent(limited)).toBe(false)
    } finally {
      await host.query('rollback')
      host.release()
    }
  })
})
