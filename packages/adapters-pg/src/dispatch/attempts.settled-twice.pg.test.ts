import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { inspect } from '../inspection/inspection.ts'

describe('an acceptance with a taken id that is written twice', async () => {
  const { pool, driver, open, commit } = await testHost()

  it('is not late', async () => {
    const service = memoryGateway({ status: 'processing' })
    let wrong = ''
    let isCut = false
    const engine = open({
      backend: postgres({
        driver: {
          ...driver,
          async query(statement, values) {
            const rows = await driver.query(statement, values)
            if (isCut || !statement.text.includes('.settle(') || !JSON.stringify(values).includes('accepted'))
              return rows
            isCut = true
            throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' })
          },
        },
      }),
      gateway: {
        ...service,
        submit: async (submission, options) =>
          submission.transferId === wrong
            ? { outcome: 'unknown', detail: 'The answer was lost.' }
            : service.submit(submission, options),
      },
    })
    const enqueue = (idempotencyKey: string) =>
      commit(async (tx) => {
        const { id } = await engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey }))
        if (idempotencyKey === 'wrong') wrong = id
        return id
      })
    await enqueue('wrong')
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(wrong))?.reason === 'outcome_unknown')
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '25 hours'`)
    await waitUntil(async () => (await engine.transfers.get(wrong))?.stage === 'blocked')
    await commit((tx) => engine.transfers.resolve(tx, wrong, { remoteId: 'remote-1' }))
    const right = await enqueue('right')
    await waitUntil(async () => (await engine.transfers.get(right))?.reason === 'remote_id_taken')
    await waitUntil(async () => isCut)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await commit((tx) => engine.transfers.resolve(tx, right, { remoteId: 'remote-1', insteadOf: wrong }))
    const { transfers } = await inspect({ driver }).health()
    expect(transfers.acceptedTwice.count).toBe(0)
  })
})
