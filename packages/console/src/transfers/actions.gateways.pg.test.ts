import { postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { consoleHost, send } from '../../test/host.ts'

const reason = 'the bank is full'

describe('a resubmission at another gateway', async () => {
  const host = await consoleHost()

  /** A console of an engine with two gateways, and a transfer that the first one has refused. */
  async function refuse() {
    const bank = memoryGateway()
    bank.script(() => ({ outcome: 'rejected', code: 'limit_reached', detail: 'too much' }))
    const engine = createEngine<pg.PoolClient>({
      backend: postgres({ driver: host.driver }),
      gateways: { bank, cards: memoryGateway() },
      route: () => 'bank',
    })
    await engine.start()
    onTestFinished(() => engine.stop())
    await waitUntil(async () => (await host.pool.query('select from outlay.attended_gateway')).rowCount === 2, {
      describe: () => 'the gateways',
    })
    const { id } = await host.commit((tx) =>
      engine.transfers.enqueue(tx, {
        accountId: 'acme',
        amount: { value: '12.50', currency: 'USD' },
        source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
      }),
    )
    const url = await host.serve({ engine })
    const gateways = async (as?: Parameters<typeof send>[2]) =>
      (await send<{ otherGateways: string[] }>(url, `GET /transfers/${id}`, as)).json.otherGateways
    return { engine, id, url, gateways }
  }

  it('names a gateway of those that the transfer shows, and has its entry in the audit', async () => {
    const { engine, id, url, gateways } = await refuse()
    await drain(engine)
    expect(await gateways()).toEqual(['cards'])
    const reader = { actor: 'rita', roles: [], permissions: { read: 'all' as const } }
    expect(await gateways({ as: reader })).toEqual([])
    const wrong = await send(url, `POST /transfers/${id}/resubmit`, { body: { reason, gateway: 'card' } })
    expect(wrong.json).toMatchObject({ status: 422, errors: [{ source: { pointer: '/gateway' } }] })
    expect(wrong.text).toContain('there are bank, cards')
    const again = await send(url, `POST /transfers/${id}/resubmit`, { body: { reason, gateway: 'cards' } })
    expect(again.json).toMatchObject({ reused: false, transfer: { gateway: 'cards', resubmissionOf: id } })
    expect(await engine.audit.list({ transferId: id })).toMatchObject([
      { command: 'transfers.resubmit', actor: 'ada', reason, before: { gateway: 'bank' }, after: { gateway: 'cards' } },
    ])
    // It has its successor.
    expect(await gateways()).toEqual([])
  })

  it('is not offered for what its own gateway has accepted', async () => {
    const { engine, id, url, gateways } = await refuse()
    await drain(engine)
    await host.pool.query(`update outlay.transfer set remote_id = 'r-1' where id = $1`, [id])
    expect(await gateways()).toEqual([])
    const refused = await send(url, `POST /transfers/${id}/resubmit`, { body: { reason, gateway: 'cards' } })
    expect(refused.status).toBe(409)
  })
})
