import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'
import { postgres } from '../backend.ts'

describe('an acceptance that came while a later attempt was under way', async () => {
  const { pool, driver, open, commit, forgetRequests } = await testHost()
  const slow = slowWorker(() => pool)

  it('keeps a refusal that is no proof from ending the transfer as failed', async () => {
    const service = memoryGateway({ status: 'processing' })
    let calls = 0
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options) {
          calls += 1
          if (calls === 1) return poor
          if (calls > 2) return service.submit(submission, options)
          // Funds have come. The first request arrives, and its answer, while the service refuses this one before its key.
          const first = await service.submit(submission, options)
          if (first.outcome !== 'accepted') throw new Error('The service accepts the first request.')
          expect(await slow.settle(submission.transferId, 1, slow.accepted(first.remoteId))).toBe('settled')
          return {
            outcome: 'rejected',
            code: 'account_not_ready',
            detail: 'The account is under review.',
            httpStatus: 403,
          }
        },
      },
    })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await waitUntil(
      async () =>
        ['settled', 'submitted', 'blocked'].includes((await engine.transfers.get(id))?.stage ?? '') || calls > 2,
    )
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })

  it('keeps the transfer from expiring', async () => {
    const service = memoryGateway({ status: 'processing' })
    let id = ''
    let late = ''
    const engine = open({
      backend: postgres({
        driver: {
          ...driver,
          async query(statement, values) {
            if (statement.text.includes('.settle(') && late === '' && JSON.stringify(values).includes('expired')) {
              late = await slow.settle(id, 1, slow.accepted('remote-1'))
            }
            return driver.query(statement, values)
          },
        },
      }),
      gateway: { ...service, submit: async () => poor },
    })
    id = (await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))).id
    await slow.claim()
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    await forgetRequests()
    await pool.query('update outlay.transfer set expires_at = now()')
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await waitUntil(() => late !== '')
    await waitUntil(async () => (await engine.transfers.get(id))?.stage !== 'submitting')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })
})
