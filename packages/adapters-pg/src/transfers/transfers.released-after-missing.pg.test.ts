import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor } from '../../test/slow-worker.ts'

describe('a transfer that was accepted, lost by the service and released', async () => {
  const { pool, open, commit } = await testHost()

  /** Sends a payout that the service accepts as `remote-1` and then does not know for an hour, until a person releases it. */
  async function release(hasFunds: () => boolean) {
    const service = listedGateway()
    const lost = new Set<string>()
    let isFailedOver = false
    const engine = open({
      polling: { maxDelayMs: 50 },
      gateway: {
        ...service,
        async get(accountId, remoteId, options) {
          return lost.has(remoteId) ? undefined : service.get(accountId, remoteId, options)
        },
        async submit(submission, options) {
          if (!isFailedOver) return service.submit(submission, options)
          if (!hasFunds()) return poor
          // The key is gone with the transfer.
          const { amount, source, destination } = submission.request
          const { id: remoteId } = service.add({ amount, source, destination })
          return { outcome: 'accepted', remoteId, observation: service.observe(remoteId) }
        },
      },
    })
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await engine.start()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'submitted')
    isFailedOver = true
    lost.add('remote-1')
    service.hidden.add('remote-1')
    await waitUntil(
      async () => (await pool.query('select 1 from outlay.transfer where unknown_since is not null')).rowCount === 1,
    )
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '61 minutes'`)
    await waitUntil(async () => (await engine.transfers.get(id))?.reason === 'missing_at_service')
    await commit((tx) => engine.transfers.release(tx, id))
    return {
      ...{ engine, service, id },
      /** The service has restored what it lost. */
      restore() {
        lost.clear()
        service.hidden.clear()
      },
    }
  }
  const adopted = async () =>
    (await pool.query(`select idempotency_key from outlay.transfer where idempotency_key like 'adopted %'`)).rows
  const reads = async ({ requests }: ReturnType<typeof listedGateway>) => {
    const before = requests.list
    await pool.query('update outlay.watched_account set next_poll_at = now()')
    await waitUntil(() => requests.list > before)
    await waitUntil(async () => (await adopted()).length > 0, { timeoutMs: 5_000 }).catch(() => 0)
  }

  it('is not canceled after a lack of funds, since the service had accepted it', async () => {
    const { engine, id } = await release(() => false)
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
  })

  it('is not paid a second time by a resubmission', async () => {
    let hasFunds = false
    const { engine, service, id, restore } = await release(() => hasFunds)
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    await commit((tx) => engine.transfers.cancel(tx, id)).catch(() => undefined)
    hasFunds = true
    const again = await commit((tx) => engine.transfers.resubmit(tx, id)).catch(() => undefined)
    if (again !== undefined) await waitUntil(async () => (await engine.transfers.get(again.id))?.stage === 'submitted')
    restore()
    expect([...service.transfers.keys()]).toEqual(['remote-1'])
  })

  it('is not adopted as one of others when the service has found it again', async () => {
    const { engine, service, id, restore } = await release(() => true)
    await waitUntil(async () => (await engine.transfers.get(id))?.remoteId === 'remote-2')
    restore()
    await reads(service)
    expect(await adopted()).toEqual([])
  })
})
