import { recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { deferJobs, isSupervisedAhead, readJobs, removeJobs, setSupervised } from '../../test/queue.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createClockJumpStore } from './clock-jumps.ts'
import { startClockWatch } from './clock-watch.ts'

const hourMs = 3_600_000

describe('a clock that was set back by three hours', async () => {
  const { pool, open, commit } = await testHost({ max: 4, options: '-c lock_timeout=20000' })

  const store = () => createClockJumpStore(pgDriver(pool), resolveNames({}).tokens)
  const enqueue = async (accountId: string, notBefore?: Date) => {
    const engine = open()
    return commit((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, { notBefore })))
  }
  /** Minutes from now until the given time of each row, by account. */
  const minutes = async (column: string, from: string) => {
    const { rows } = await pool.query(
      `select t.account_id as name, round(extract(epoch from ${column} - now()) / 60)::integer as wait from ${from} order by 1`,
    )
    return Object.fromEntries(rows.map(({ name, wait }) => [name, wait]))
  }

  it('delays nothing by three hours: each time is as far away as it was', async () => {
    const [due, backingOff, deferred] = [await enqueue('due'), await enqueue('backing-off'), await enqueue('deferred')]
    const polled = await enqueue('polled')
    const scheduled = await enqueue('scheduled', new Date(Date.now() + 2 * hourMs))
    const waits = async () => {
      const jobs = await readJobs(pool, due.id, backingOff.id, scheduled.id)
      return jobs.map(({ dueInMinutes }) => dueInMinutes)
    }
    await deferJobs(pool, '3 hours', due.id)
    await deferJobs(pool, '3 hours 5 minutes', backingOff.id)
    await deferJobs(pool, '10 years', deferred.id)
    await removeJobs(pool, polled.id)
    await pool.query(`update outlay.transfer set stage = 'submitted', remote_id = 'r', next_poll_at = now() + interval '3 hours 10 minutes'
      where account_id = 'polled'`)
    await pool.query(
      `insert into outlay.list_reading (account_id, patience, leased_until) values ('acme', 1, now() + interval '3 hours')`,
    )
    await setSupervised(pool, '3 hours')

    expect(await store().setBack(3 * hourMs)).toBeGreaterThan(0)
    expect(await waits()).toEqual([0, 5, 120])
    expect((await readJobs(pool, deferred.id))[0]?.dueInMinutes).toBeGreaterThan(5_000_000)
    expect(await minutes('t.next_poll_at', 'outlay.transfer t where next_poll_at is not null')).toEqual({ polled: 10 })
    expect(await minutes('t.leased_until', 'outlay.list_reading t')).toEqual({ acme: 0 })
    expect(await isSupervisedAhead(pool)).toBe(false)
    // A row that was locked is found the next time, and the others stay as they are.
    await deferJobs(pool, '3 hours', due.id)
    await store().setBack(3 * hourMs, 1.5 * hourMs)
    expect(await waits()).toEqual([0, 5, 120])
    await pool.query('delete from outlay.list_reading')
  })

  it('keeps windows of returns as long as they were, and opens those again that ended by that clock alone', async () => {
    await pool.query(`insert into outlay.return_window (transfer_id, account_id, opened_at, ends_at, closed_at, missing_at) values
      ('a', 'opened', now() + interval '2 hours', now() + interval '5 hours', null, now() + interval '1 hour'),
      ('b', 'ended', now() - interval '2 hours', now() + interval '1 hour', now() + interval '2 hours', null),
      ('c', 'over', now() - interval '5 hours', now() - interval '4 hours', now() - interval '3 hours', null)`)
    await pool.query(`insert into outlay.return_reading (account_id, read_at, began_at) values
      ('opened', now() + interval '1 hour', now() + interval '2 hours'), ('ended', now() + interval '1 hour', null)`)
    await store().setBack(3 * hourMs)
    expect(await minutes('t.began_at', 'outlay.return_reading t')).toEqual({ ended: null, opened: 0 })
    const column = (name: string) => minutes(`t.${name}`, 'outlay.return_window t')
    expect(await column('opened_at')).toEqual({ ended: -120, opened: -60, over: -300 })
    expect(await column('ends_at')).toEqual({ ended: 60, opened: 120, over: -240 })
    expect(await column('closed_at')).toEqual({ ended: null, opened: null, over: -180 })
    expect(await column('missing_at')).toEqual({ ended: null, opened: 0, over: null })
  })

  it('moves all times also when the clock was ahead by years', async () => {
    await enqueue('later')
    await pool.query(`update outlay.transfer set unknown_since = now() + interval '3 years'`)
    await store().setBack(3 * 365 * 24 * hourMs)
    expect((await minutes('t.unknown_since', 'outlay.transfer t'))['later']).toBeLessThanOrEqual(0)
  })

  /** Runs a watch for six readings of a clock; returns the jumps that it noticed, in hours. */
  const watchSix = async (
    readNth: (nth: number) => { nowMs: number; seenMs: number },
    monotonicMs: () => number,
    isFirst = true,
  ) => {
    let reads = 0
    const noticed: number[] = []
    const clockJumps = {
      read: async () => {
        reads += 1
        return readNth(reads)
      },
      claim: async () => isFirst,
      setBack: async (byMs: number, fromMs = 0) => (fromMs === 0 ? noticed.push(byMs) : 0),
    }
    const watch = startClockWatch({ clockJumps, logger: recordingLogger(), monotonicMs })
    await waitUntil(
      () => {
        watch.wake()
        return reads >= 6
      },
      { timeoutMs: 60_000 },
    )
    await watch.stop()
    return noticed.map((ms) => Math.round(ms / hourMs))
  }

  it('is noticed by every worker, and slow answers do not count as one', async () => {
    let [monotonicMs, behindMs] = [0, 0]
    const readNth = (nth: number) => {
      monotonicMs += 1_000
      // The third reading finds it set back; the fifth one's answer is on its way for a minute.
      if (nth === 3) behindMs = 3 * hourMs
      const nowMs = 10 * hourMs + monotonicMs - behindMs
      if (nth === 5) monotonicMs += 60_000
      return { nowMs, seenMs: 0 }
    }
    expect(await watchSix(readNth, () => monotonicMs)).toEqual([3])
  })

  it('is noticed once where a worker has recorded a time in the future that no reading has seen', async () => {
    let monotonicMs = 0
    const readNth = (nth: number) => {
      monotonicMs += 1_000
      return { nowMs: monotonicMs, seenMs: nth < 3 ? 0 : nth === 3 ? 3 * hourMs : monotonicMs }
    }
    expect(await watchSix(readNth, () => monotonicMs)).toEqual([3])
  })

  it('is left to the worker that has taken it', async () => {
    let monotonicMs = 0
    const readNth = (nth: number) => {
      monotonicMs += 1_000
      return { nowMs: monotonicMs, seenMs: nth < 3 ? 0 : nth === 3 ? 3 * hourMs : monotonicMs - 1_000 }
    }
    expect(await watchSix(readNth, () => monotonicMs, false)).toEqual([])
  })

  it('is noticed by the time that a worker has recorded', async () => {
    const engine = open()
    await engine.start()
    await engine.stop()
    await pool.query(`update outlay.known_database set seen_at = now() + interval '3 hours'`)
    const { nowMs, seenMs } = await store().read()
    await pool.query('delete from outlay.known_database')
    expect(Math.round((seenMs - nowMs) / hourMs)).toBe(3)
    expect((await store().read()).seenMs).toBe(0)
  })

  it('takes a longer pause from nobody: several workers notice it, and search for stragglers again and again', async () => {
    const paused = await enqueue('paused')
    await deferJobs(pool, '20 minutes')
    await pool.query(`insert into outlay.account_throttle (account_id, rate, throttled_until, changed_at)
      values ('paused', 1, now() + interval '20 minutes', now())`)
    const minuteMs = 60_000
    const watch = async () => {
      let [reads, monotonicMs] = [0, 0]
      const clockJumps = {
        ...store(),
        read: async () => {
          reads += 1
          monotonicMs += 2_000
          return { nowMs: monotonicMs - (reads < 3 ? 0 : minuteMs), seenMs: 0 }
        },
      }
      const loop = startClockWatch({ clockJumps, logger: recordingLogger(), monotonicMs: () => monotonicMs })
      await waitUntil(
        () => {
          loop.wake()
          return reads >= 20
        },
        { timeoutMs: 60_000 },
      )
      await loop.stop()
    }
    await Promise.all([watch(), watch()])
    expect((await readJobs(pool, paused.id))[0]?.dueInMinutes).toBeGreaterThanOrEqual(18)
    const throttles = await minutes('t.throttled_until', 'outlay.account_throttle t')
    expect(throttles['paused']).toBeGreaterThanOrEqual(18)
  })

  it('takes no pause from anybody when workers start, until the recorded time has come', async () => {
    const engine = open()
    await engine.start()
    await engine.stop()
    await pool.query(`update outlay.known_database set seen_at = now() + interval '3 hours'`)
    const watchTwice = async () => {
      let reads = 0
      const read = () => {
        reads += 1
        return store().read()
      }
      const loop = startClockWatch({ clockJumps: { ...store(), read }, logger: recordingLogger() })
      await waitUntil(
        () => {
          loop.wake()
          return reads >= 2
        },
        { timeoutMs: 60_000 },
      )
      await loop.stop()
    }
    await watchTwice()
    await pool.query(`insert into outlay.account_throttle (account_id, rate, throttled_until, changed_at)
      values ('paused', 1, now() + interval '20 minutes', now())`)
    await watchTwice()
    const throttles = await minutes('t.throttled_until', 'outlay.account_throttle t')
    expect(throttles['paused']).toBeGreaterThanOrEqual(18)
  })
})
