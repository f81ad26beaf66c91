import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createTransferStore } from '../transfers/transfers.ts'
import { createPollStore } from './polls.ts'

describe('what a worker records about transfers that a host has locked', async () => {
  // A statement that waits fails instead of hanging.
  const { pool, open, commit } = await testHost({ max: 4, options: '-c lock_timeout=2000' })
  const { tokens } = resolveNames({})

  /** Two submitted transfers that are leased for ten minutes, the first of which a host holds while `act` runs. */
  const whileFirstIsHeld = async (act: (held: string, free: string) => Promise<unknown>) => {
    const engine = open()
    const payouts = [samplePayout('acme'), samplePayout('acme')]
    const [held, free] = (await commit((tx) => engine.transfers.enqueueMany(tx, payouts))).map(({ id }) => id)
    if (held === undefined || free === undefined) throw new Error('Two were enqueued.')
    await pool.query(
      `update outlay.transfer set stage = 'submitted', status = 'processing', remote_id = 'remote-' || id,
         next_poll_at = now() + interval '10 minutes', polls = 3`,
    )
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [held])
      await act(held, free)
      await host.query('rollback')
    } finally {
      host.release(true)
    }
    const { rows } = await pool.query(
      `select id, polls, next_poll_at <= now() as due, next_poll_at > now() + interval '50 minutes' as "isLater" from outlay.transfer`,
    )
    return Object.fromEntries(rows.map(({ id, ...rest }) => [id === held ? 'held' : 'free', rest]))
  }
  const polls = () => createPollStore(pgDriver(pool), tokens)
  const untouched = { polls: 3, due: false, isLater: false }
  const hour = 3_600_000

  it('about the next poll waits for no lock', async () => {
    const after = await whileFirstIsHeld((held, free) =>
      polls().reschedule([held, free].map((id) => ({ id, ms: hour, seen: false }))),
    )
    expect(after).toEqual({ held: untouched, free: { polls: 3, due: false, isLater: true } })
  })

  it('about missing ones waits for no lock, and starts over when one was seen in between', async () => {
    const patienceMs = 1_000
    const since = async (id: string) =>
      (await pool.query('select unknown_since, reason from outlay.transfer where id = $1', [id])).rows[0]
    const age = (id: string) =>
      pool.query(`update outlay.transfer set unknown_since = unknown_since - interval '1 minute' where id = $1`, [id])
    await whileFirstIsHeld(async (held, free) => {
      expect(await polls().markMissing([held, free], patienceMs)).toEqual([])
      expect(await since(held)).toEqual({ unknown_since: null, reason: null })
      await age(free)
      await polls().reschedule([{ id: free, ms: hour, seen: true }])
      expect(await polls().markMissing([free], patienceMs)).toEqual([])
      await age(free)
      expect(await polls().markMissing([free], patienceMs)).toEqual([free])
      expect(await since(free)).toMatchObject({ reason: 'missing_at_service' })
      // Once, however often it is missing.
      expect(await polls().markMissing([free], patienceMs)).toEqual([])
      await polls().reschedule([{ id: free, ms: hour, seen: true }])
      expect(await since(free)).toEqual({ unknown_since: null, reason: null })
    })
  })

  it('about a page of a list waits for no lock', async () => {
    const after = await whileFirstIsHeld((held, free) =>
      polls().rescheduleAfterPage([held, free].map((id) => ({ id, ms: hour, polls: 4, due: true }))),
    )
    expect(after).toEqual({ held: untouched, free: { polls: 4, due: false, isLater: true } })
  })

  it('about those that it gives back waits for no lock', async () => {
    const after = await whileFirstIsHeld((held, free) => polls().giveBack([held, free]))
    expect(after).toEqual({ held: untouched, free: { polls: 2, due: true, isLater: false } })
  })

  it('about early observations waits for no lock, and comes to the others the next time', async () => {
    const earlyObservations = async () =>
      (await pool.query('select remote_id from outlay.early_observation order by 1')).rows
    let left: unknown
    const after = await whileFirstIsHeld(async (held) => {
      await pool.query(
        `insert into outlay.early_observation (account_id, remote_id) select 'acme', remote_id from outlay.transfer`,
      )
      await pool.query(
        `insert into outlay.early_observation (account_id, remote_id, seen_at) values ('acme', 'long ago', now() - interval '2 hours')`,
      )
      await polls().applyEarlyObservations()
      left = await earlyObservations()
      expect(left).toEqual([{ remote_id: `remote-${held}` }])
    })
    expect(after).toEqual({ held: untouched, free: { polls: 3, due: true, isLater: false } })
    await polls().applyEarlyObservations()
    expect(await earlyObservations()).toEqual([])
  })

  it('about those that were found at the service waits for no lock, and comes to the others the next time', async () => {
    const store = createTransferStore(pgDriver(pool), tokens)
    const found = async () => (await pool.query('select remote_id from outlay.found_transfer')).rows
    const after = await whileFirstIsHeld(async (held) => {
      await pool.query(
        `insert into outlay.found_transfer (account_id, remote_id, automated, transfer)
         select 'acme', remote_id, false, '{}' from outlay.transfer`,
      )
      expect(await store.adoptFound(10)).toEqual({ ids: [], failed: [] })
      expect(await found()).toEqual([{ remote_id: `remote-${held}` }])
    })
    expect(after).toEqual({ held: untouched, free: { polls: 3, due: true, isLater: false } })
    await store.adoptFound(10)
    expect(await found()).toEqual([])
  })
})
