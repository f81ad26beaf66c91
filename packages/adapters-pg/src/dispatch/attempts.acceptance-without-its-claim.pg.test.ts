import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { loseJobs } from '../../test/queue.ts'
import { inspect } from '../inspection/inspection.ts'

describe('after a fail-over that lost a claim, its acceptance', async () => {
  const { pool, driver, open, commit } = await testHost()

  it('is known, and keeps the transfer from being paid twice', async () => {
    const service = memoryGateway({ status: 'processing' })
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    let calls = 0
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options) {
          calls += 1
          const result = await service.submit(submission, options)
          if (calls === 1) await answered
          return result
        },
      },
    })
    await engine.start()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => service.transfers.size === 1)
    // The standby that is promoted has the enqueue and not the claim. The host has stopped everything for the fail-over.
    await commit((tx) => engine.stops.add(tx, { scope: 'all' }))
    await pool.query(
      `update outlay.transfer set attempt = 0, stage = 'queued', submission_key = null, client = null where id = $1`,
      [id],
    )
    await pool.query('delete from outlay.attempt where transfer_id = $1', [id])
    await loseJobs(pool)
    await commit((tx) => engine.transfers.cancel(tx, id))
    answer()
    await waitUntil(async () => (await inspect({ driver }).health()).transfers.acceptedLate.count === 1)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id)).catch(() => undefined)
    await commit((tx) => engine.stops.end(tx, { scope: 'all' }))
    if (again !== undefined) await waitUntil(async () => (await engine.transfers.get(again.id))?.stage === 'submitted')
    expect(service.transfers.size).toBe(1)
  })
})
