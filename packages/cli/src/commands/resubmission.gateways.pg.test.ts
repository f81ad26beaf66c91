import { postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

describe('outlay transfers resubmit --gateway', async () => {
  const host = await testHost()
  const bank = memoryGateway()
  const cards = memoryGateway()
  afterEach(() => {
    for (const gateway of [bank, cards]) gateway.script(() => undefined)
  })
  const run = (...args: string[]) => outlay(['transfers', 'resubmit', ...args], { DATABASE_URL: host.database.url })

  /** An engine with two gateways that has worked, and a transfer that the first one has refused. */
  async function refuse() {
    bank.script(() => ({ outcome: 'rejected', code: 'limit_reached', detail: 'too much' }))
    const engine = createEngine({
      backend: postgres({ driver: host.driver }),
      gateways: { bank, cards },
      route: () => 'bank',
    })
    await engine.start()
    onTestFinished(() => engine.stop())
    await waitUntil(async () => (await host.pool.query('select from outlay.attended_gateway')).rowCount === 2, {
      describe: () => 'the gateways',
    })
    const request = {
      accountId: 'acme',
      amount: { value: '12.50', currency: 'USD' },
      source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
    }
    const { id } = await host.commit((tx) => engine.transfers.enqueue(tx, { ...request, idempotencyKey: 'k' }))
    await drain(engine)
    return { engine, id }
  }

  it('sends what one gateway has refused at another one, under the key of a fail-over, with who and why', async () => {
    const { engine, id } = await refuse()
    const { code, stdout } = await run(id, '--gateway', 'cards', '--actor', 'olga', '--reason', 'the bank is full')
    expect([code, stdout]).toEqual([0, expect.stringContaining('the new key k:at:cards at the gateway cards')])
    await drain(engine)
    expect(await engine.transfers.getByKey('acme', 'k:at:cards')).toMatchObject({
      gateway: 'cards',
      resubmissionOf: id,
    })
    expect(cards.submissions).toMatchObject([{ request: { amount: { value: '12.50' } } }])
    expect(await engine.audit.list({ transferId: id, command: 'transfers.resubmit' })).toMatchObject([
      { actor: 'olga', reason: 'the bank is full', before: { gateway: 'bank' }, after: { gateway: 'cards' } },
    ])
    const again = await run(id, '--gateway', 'cards', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ reused: true, gateway: 'cards', resubmits: id })
  })

  it('names the gateways where there is none of that name, and enqueues nothing', async () => {
    const { engine, id } = await refuse()
    const { code, stderr } = await run(id, '--gateway', 'card')
    expect([code, stderr]).toEqual([2, expect.stringContaining('a gateway "card"; there are "bank", "cards"')])
    expect(stderr).toContain('Nothing was enqueued')
    expect((await engine.transfers.get(id))?.resubmittedAs).toBeUndefined()
  })

  it('takes the gateway of the ended transfer, and no other, for what its own gateway has accepted', async () => {
    const { engine, id } = await refuse()
    await host.pool.query(`update outlay.transfer set remote_id = 'r-1' where id = $1`, [id])
    const { code, stderr } = await run(id, '--gateway', 'cards')
    expect([code, stderr]).toEqual([1, expect.stringContaining('The gateway bank had accepted')])
    expect((await run(id, '--gateway', 'bank')).stdout).toContain('k:resubmit at the gateway bank')
    expect((await engine.transfers.getByKey('acme', 'k:resubmit'))?.gateway).toBe('bank')
  })
})
