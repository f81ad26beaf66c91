import type { EnqueueRequest, Policy } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { refusingGateway } from '../../test/refusing-gateway.ts'

const note = { actor: 'petra', reason: 'decided' }
const elsewhere = { addressId: 'x', valueType: 'USD', transferType: 'ach_credit' }
const alike: Policy = { name: 'alike', when: { lookalike: { days: 7 } }, hold: 'paid twice?' }
const newOfAccount: Policy = { name: 'new', when: { newCounterparty: 'account' }, hold: 'a first payment' }
const newOfHost: Policy = { name: 'new', when: { newCounterparty: 'host' }, hold: 'a first payment' }

describe('a policy about earlier transfers, where one was handed over to another gateway', async () => {
  const { pool, open, commit, rows, forgetRequests } = await testHost()
  let route = 'default'
  afterEach(() => {
    route = 'default'
  })
  const prepare = async () => {
    const first = refusingGateway()
    const engine = open({
      ...{ gateways: { default: first, second: refusingGateway(false) }, route: () => route, fraction: 0.001 },
      failover: ({ gateway }) => (gateway === 'default' ? 'second' : undefined),
      logger: silentLogger,
    })
    await engine.policies.prepare()
    return { engine, first }
  }
  const set = (engine: HostEngine, ...policies: Policy[]) => commit((tx) => engine.policies.set(tx, policies, note))
  const payout = (overrides: Partial<EnqueueRequest> = {}) => samplePayout('acme', { createdBy: 'carl', ...overrides })
  const pay = (engine: HostEngine, overrides: Partial<EnqueueRequest> = {}) =>
    commit((tx) => engine.transfers.enqueue(tx, payout(overrides)))
  const successorOf = async (engine: HostEngine, id: string) =>
    waitUntil(async () => (await engine.transfers.get(id))?.resubmittedAs)
  const whyOf = async (engine: HostEngine, id: string) =>
    (await engine.transfers.holds(id))?.holds.map(({ why }) => why)
  /** A transfer that was refused and is handed over once no request of it can arrive any more. */
  const refuse = async (engine: HostEngine) => {
    const { id } = await pay(engine)
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await rows('select from outlay.delivery where failures > 0')).length === 1)
    return id
  }
  const deliverAgain = async () => {
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
  }

  it('holds what looks like it at the gateway that it came from, and at the one that it went to', async () => {
    const { engine } = await prepare()
    await engine.start()
    const { id } = await pay(engine)
    const next = await successorOf(engine, id)
    await reach(engine, next, { stage: 'submitted', gateway: 'second' })
    await set(engine, alike)
    const again = await pay(engine)
    expect(again).toMatchObject({ stage: 'held', gateway: 'default' })
    expect(await whyOf(engine, again.id)).toEqual([expect.stringContaining(`the transfer ${next} of`)])
    for (const other of [{ amount: { value: '12.51', currency: 'USD' } }, { destination: elsewhere }])
      expect(await pay(engine, other)).toMatchObject({ stage: 'queued' })
    route = 'second'
    expect(await pay(engine)).toMatchObject({ stage: 'held', gateway: 'second' })
  })

  it('takes the same id at a gateway from which nothing was handed over for another payee', async () => {
    const { engine } = await prepare()
    await set(engine, alike)
    route = 'second'
    expect(await pay(engine)).toMatchObject({ stage: 'queued', gateway: 'second' })
    route = 'default'
    expect(await pay(engine)).toMatchObject({ stage: 'queued', gateway: 'default' })
  })

  it('holds the successor that looks like one at the gateway that it comes from', async () => {
    const { engine, first } = await prepare()
    const id = await refuse(engine)
    first.refuses = false
    const paid = await pay(engine)
    await reach(engine, paid.id, { stage: 'submitted' })
    await set(engine, alike)
    await deliverAgain()
    const next = await successorOf(engine, id)
    expect(await engine.transfers.get(next)).toMatchObject({ stage: 'held', gateway: 'second' })
    expect(await whyOf(engine, next)).toEqual([expect.stringContaining(`the transfer ${paid.id} of`)])
  })

  it('holds before it is sent what was enqueued while it was handed over', async () => {
    const { engine, first } = await prepare()
    await set(engine, alike)
    const id = await refuse(engine)
    first.refuses = false
    const host = await pool.connect()
    try {
      await host.query('begin')
      const again = await engine.transfers.enqueue(host, payout())
      expect(again).toMatchObject({ stage: 'queued', gateway: 'default' })
      await deliverAgain()
      const next = await successorOf(engine, id)
      await reach(engine, next, { stage: 'submitted' })
      await host.query('commit')
      await reach(engine, again.id, { stage: 'held' })
      expect(await whyOf(engine, again.id)).toEqual([expect.stringContaining(`the transfer ${next} of`)])
    } finally {
      await host.query('rollback')
      host.release()
    }
  })

  it('knows the payee at the gateway that it came from, once it is complete', async () => {
    const { engine } = await prepare()
    await engine.start()
    const { id } = await pay(engine)
    const next = await successorOf(engine, id)
    await reach(engine, next, { stage: 'submitted' })
    await engine.stop()
    await rows(`update outlay.transfer set stage = 'settled', status = 'complete' where id = $1`, [next])
    for (const policy of [newOfAccount, newOfHost]) {
      await set(engine, policy)
      expect(await pay(engine)).toMatchObject({ stage: 'queued', gateway: 'default' })
    }
    expect(await pay(engine, { destination: elsewhere })).toMatchObject({ stage: 'held' })
  })
})
