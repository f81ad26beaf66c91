import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a transfer that a host has locked while its status is applied', async () => {
  const { pool, driver, open, commit } = await testHost()

  it.each([
    { count: 2, how: 'by itself' },
    { count: 20, how: 'on a page of its list' },
  ])('is polled again soon, when it was read $how', async ({ count }) => {
    const gateway = listedGateway()
    const host = await pool.connect()
    let isHeld = false
    let wasHeld = false
    const lock = async () => {
      if (isHeld || gateway.requests.get + gateway.requests.list > 1) return
      isHeld = true
      await host.query('begin')
      await host.query(`select 1 from outlay.transfer where remote_id = 'remote-1' for update`)
    }
    gateway.onList = lock
    const engine = open({
      gateway: {
        ...gateway,
        async get(accountId, remoteId, signal) {
          await lock()
          return gateway.get(accountId, remoteId, signal)
        },
      },
      driver: {
        ...driver,
        async query(statement, values) {
          // The host ends in the moment in which the next poll is set.
          if (isHeld && /_reschedule(_after_page)?$/.test(statement.name)) {
            isHeld = false
            wasHeld = true
            await host.query('rollback')
          }
          return driver.query(statement, values)
        },
      },
    })
    try {
      const payouts = Array.from({ length: count }, () => samplePayout('acme'))
      await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
      await engine.start()
      await waitUntil(async () => (await engine.backlog()).submitted === count)
      for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
      await pool.query('update outlay.transfer set next_poll_at = now()')
      // By ACH, the next poll would be due after half a day.
      await waitUntil(async () => (await engine.backlog()).settled === count, { timeoutMs: 60_000 })
      expect(wasHeld).toBe(true)
    } finally {
      host.release(true)
    }
  })
})
