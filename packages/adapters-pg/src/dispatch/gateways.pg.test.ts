import type { EngineOptions } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { inspect } from '../inspection/inspection.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createGatewayStore } from './gateways.ts'

type Options = Partial<EngineOptions<pg.PoolClient>>

const host = await testHost()
const { driver, rows, commit, open, enqueue, stopAll } = host
const inspection = inspect({ driver })

/** Two services that give the same ids, so that one is never taken for the other by luck. */
function two(options: Options = {}) {
  const first = memoryGateway({ status: 'processing' })
  const second = memoryGateway({ status: 'processing' })
  let wanted = 'default'
  const make = (others: Options = {}) =>
    open({
      gateways: { default: first, second },
      route: () => wanted,
      polling: { maxDelayMs: 50 },
      fraction: 0.001,
      ...options,
      ...others,
    })
  return { first, second, make, choose: (name: string) => (wanted = name) }
}

const gatewaysOf = (id: string) =>
  rows('select a.gateway, a.outcome from outlay.attempt a where a.transfer_id = $1 order by a.attempt', [id])

describe('an engine with two gateways', () => {
  it('sends each transfer to the gateway that its row names, and reads its status there', async () => {
    const { first, second, make, choose } = two()
    const engine = make()
    const one = await enqueue(engine)
    choose('second')
    const other = await enqueue(engine)
    expect([one.gateway, other.gateway]).toEqual(['default', 'second'])
    await engine.start()
    await reach(engine, one.id, { stage: 'submitted', remoteId: 'remote-1' })
    await reach(engine, other.id, { stage: 'submitted', remoteId: 'remote-1' })
    expect(first.submissions.map(({ transferId }) => transferId)).toEqual([one.id])
    expect(second.submissions.map(({ transferId }) => transferId)).toEqual([other.id])
    second.setStatus('remote-1', 'complete')
    await reach(engine, other.id, { stage: 'settled', status: 'complete' })
    expect(await engine.transfers.get(one.id)).toMatchObject({ stage: 'submitted', status: 'processing' })
    expect(await gatewaysOf(other.id)).toEqual([{ gateway: 'second', outcome: 'accepted' }])
    const listed = await inspection.transfers({ gateway: 'second' })
    expect(listed.map(({ id, gateway }) => [id, gateway])).toEqual([[other.id, 'second']])
  })

  it('returns the first transfer of a key, whatever route answers now', async () => {
    const { make, choose } = two()
    const engine = make()
    const payout = samplePayout('acme', { idempotencyKey: 'rent' })
    const one = await commit((tx) => engine.transfers.enqueue(tx, payout))
    choose('second')
    const again = await commit((tx) => engine.transfers.enqueue(tx, payout))
    const many = await commit((tx) => engine.transfers.enqueueMany(tx, [payout]))
    expect(again).toMatchObject({ id: one.id, gateway: 'default', reused: true })
    expect(many).toMatchObject([{ id: one.id, gateway: 'default', reused: true }])
  })

  it('enqueues many, each for its gateway', async () => {
    const { make } = two({ route: ({ note }) => note ?? 'default' })
    const engine = make()
    const payouts = ['second', 'default', 'second'].map((note) => samplePayout('acme', { note }))
    const enqueued = await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
    expect(enqueued.map(({ gateway }) => gateway)).toEqual(['second', 'default', 'second'])
    expect(await rows('select gateway from outlay.transfer order by id')).toEqual(
      ['second', 'default', 'second'].map((gateway) => ({ gateway })),
    )
  })

  it('refuses an unknown answer of route before any SQL, and the transaction stays usable', async () => {
    const { make, choose } = two()
    const engine = make()
    choose('third')
    await commit(async (tx) => {
      await expect(engine.transfers.enqueue(tx, samplePayout('acme'))).rejects.toMatchObject({
        code: 'invalid_request',
        field: 'gateway',
      })
      choose('second')
      await engine.transfers.enqueue(tx, samplePayout('acme'))
    })
  })

  it('keeps what it knows of an account at one gateway away from the other', async () => {
    const { first, second, make, choose } = two()
    const engine = make()
    first.script(() => ({ outcome: 'unauthorized', detail: 'wrong secret', httpStatus: 401 }))
    const refused = await enqueue(engine)
    await engine.start()
    await reach(engine, refused.id, { reason: 'unauthenticated' })
    choose('second')
    const other = await enqueue(engine)
    await reach(engine, other.id, { stage: 'submitted' })
    expect(await rows('select account_id from outlay.unauthorized_account')).toEqual([{ account_id: 'acme' }])
    second.script(() => ({ outcome: 'throttled', detail: 'busy', httpStatus: 429, retryAfterMs: 600_000 }))
    const busy = await enqueue(engine)
    await reach(engine, busy.id, { reason: 'rate_limited' })
    await waitUntil(async () => (await engine.accounts.get('acme', { gateway: 'second' })).throttledUntil !== null)
    expect(await engine.accounts.get('acme', { gateway: 'default' })).toMatchObject({
      accountId: 'acme',
      throttledUntil: null,
    })
  })

  it('registers a counterparty at each gateway', async () => {
    const { first, second, make, choose } = two()
    const engine = make()
    const address = { name: 'Ada', address: '0x52908400098527886E0F7030069857D2E4169EE7', transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' } as never
    const usdc = { amount: { value: '1.00', currency: 'USDC' }, destination }
    const one = await enqueue(engine, usdc)
    choose('second')
    const other = await enqueue(engine, usdc)
    await engine.start()
    await reach(engine, one.id, { stage: 'submitted' })
    await reach(engine, other.id, { stage: 'submitted' })
    expect([first.registrations.length, second.registrations.length]).toEqual([1, 1])
  })

  it('stops one gateway alone, and sends what waited when the stop ends', async () => {
    const { second, make, choose } = two()
    const engine = make()
    await engine.start()
    await commit((tx) => engine.stops.add(tx, { scope: 'gateway', name: 'second' }))
    choose('second')
    const held = await enqueue(engine)
    choose('default')
    const sent = await enqueue(engine)
    await reach(engine, sent.id, { stage: 'submitted' })
    await reach(engine, held.id, { reason: 'gateway_held' })
    expect(second.submissions).toEqual([])
    await commit((tx) => engine.stops.end(tx, { scope: 'gateway', name: 'second' }))
    await reach(engine, held.id, { stage: 'submitted' })
  })
})

describe('the end of the stop of a gateway', () => {
  const store = createGatewayStore(driver, resolveNames({}).tokens)
  const dueIn = async () =>
    (
      await rows(`select extract(epoch from o.due_at - clock_timestamp())::float8 as seconds from outlay.outbox o
      order by o.id`)
    ).map(({ seconds }) => Math.max(0, Math.round(Number(seconds))))

  it('makes due what it held, whatever that waited for before, and nothing else', async () => {
    const { make, choose } = two()
    const engine = make()
    choose('second')
    const held = []
    for (const reason of [null, 'gateway_held', 'outcome_unknown', 'rate_limited']) {
      const { id } = await enqueue(engine)
      await rows('update outlay.transfer set reason = $2 where id = $1', [id, reason])
      held.push(id)
    }
    await commit((tx) => engine.stops.add(tx, { scope: 'gateway', name: 'second' }))
    await rows(`update outlay.outbox set due_at = clock_timestamp() + interval '300 seconds', ready = false`)
    choose('default')
    const other = await enqueue(engine)
    await rows(
      `update outlay.outbox set due_at = clock_timestamp() + interval '200 seconds', ready = false
      where outlay.transfer_of_job(id) = $1`,
      [other.id],
    )
    choose('second')
    const inAMinute = new Date(Date.now() + 100_000)
    const planned = await enqueue(engine, { notBefore: inAMinute.toISOString() })
    const later = await enqueue(engine)
    await rows(
      `update outlay.outbox set due_at = clock_timestamp() + interval '10 years', ready = false
      where outlay.transfer_of_job(id) = $1`,
      [later.id],
    )
    expect(held.length + [other, planned, later].length).toBe((await dueIn()).length)
    expect(await store.attend(['default', 'second'])).toBe(0)
    await commit((tx) => engine.stops.end(tx, { scope: 'gateway', name: 'second' }))
    expect(await store.attend(['default'])).toBe(0)
    while ((await store.attend(['default', 'second'])) > 0);
    const due = await dueIn()
    const [otherDue, plannedDue, laterDue] = due.slice(4)
    expect(due.slice(0, 4)).toEqual([0, 0, 0, 0])
    expect(otherDue).toBeGreaterThan(150)
    expect(plannedDue).toBeGreaterThan(50)
    expect(laterDue).toBeGreaterThan(1_000)
    expect(await rows('select 1 from outlay.started_gateway')).toEqual([])
  })
})

describe('an engine without a gateway that rows name', () => {
  it('sends those rows nowhere, and the others as ever; it says so, and another engine sends them', async () => {
    const { first, second, make, choose } = two()
    const both = make()
    choose('second')
    const held = await enqueue(both)
    choose('default')
    const sent = await enqueue(both)
    const warnings: unknown[] = []
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: unknown) => void warnings.push(fields) }
    const one = open({ gateway: first, logger })
    await one.start()
    await reach(one, sent.id, { stage: 'submitted' })
    await reach(one, (await enqueue(one)).id, { stage: 'submitted' })
    expect(await one.transfers.get(held.id)).toMatchObject({
      stage: 'queued',
      reason: null,
      attempt: 0,
      gateway: 'second',
    })
    await waitUntil(() => warnings.length > 0)
    expect(warnings).toContainEqual(expect.objectContaining({ gateway: 'second', transfers: 1, known: ['default'] }))
    expect((await inspection.health()).unattendedGateways).toMatchObject([{ gateway: 'second', transfers: 1 }])
    await rows(`update outlay.transfer set updated_at = now() - interval '5 minutes' where id = $1`, [held.id])
    await rows(`update outlay.outbox set due_at = now() - interval '5 minutes'`)
    const waitsFor = 'its gateway second, which no worker has'
    expect((await inspection.stuck({ id: held.id }))[0]).toMatchObject({ gateway: 'second', waitsFor })
    expect([first.submissions.length, second.submissions.length]).toEqual([2, 0])
    await stopAll()
    const later = make()
    await later.start()
    await reach(later, held.id, { stage: 'submitted' })
    expect((await inspection.health()).unattendedGateways).toEqual([])
  })
})

describe('engines for one gateway each', () => {
  it('send what is theirs, without a wait for each other', async () => {
    const { first, second, make } = two({ route: ({ note }) => note ?? 'default' })
    const names = ['default', 'second', 'second', 'default', 'second']
    const payouts = names.map((note) => samplePayout('acme', { note }))
    const enqueued = await commit((tx) => make().transfers.enqueueMany(tx, payouts))
    const engines = [open({ gateway: first }), open({ gateways: { second } })]
    for (const engine of engines) await engine.start()
    for (const { id } of enqueued) await reach(make(), id, { stage: 'submitted', attempt: 1 })
    expect([first.submissions.length, second.submissions.length]).toEqual([2, 3])
  })
})

describe('a transfer that others made at one gateway', () => {
  it('is adopted as one of that gateway', async () => {
    const [first, second] = [listedGateway(), listedGateway()]
    const engine = open({ gateways: { default: first, second }, route: () => 'default', polling: { maxDelayMs: 50 } })
    await expect(commit((tx) => engine.accounts.watch(tx, 'acme'))).rejects.toMatchObject({ field: 'gateway' })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { gateway: 'second' }))
    const made = second.add({ createdAt: new Date().toISOString() })
    await engine.start()
    const adopted = () =>
      rows(`select gateway, account_id, remote_id from outlay.transfer where idempotency_key like 'adopted %'`)
    await waitUntil(async () => (await adopted()).length > 0)
    expect(await adopted()).toEqual([{ gateway: 'second', account_id: 'acme', remote_id: made.id }])
    expect(first.requests.list).toBe(0)
  })
})

describe('transfers that others made with one id at two gateways', () => {
  const watchBoth = async () => {
    const [first, second] = [listedGateway(), listedGateway()]
    const engine = open({ gateways: { default: first, second }, route: () => 'default', polling: { maxDelayMs: 50 } })
    for (const gateway of ['default', 'second'])
      await commit((tx) => engine.accounts.watch(tx, 'acme', { gateway, since: new Date(Date.now() - 60_000) }))
    for (const one of [first, second]) one.add({ createdAt: new Date().toISOString() })
    return engine
  }
  const adopted = () =>
    rows(`select gateway, idempotency_key as key, remote_id as id from outlay.transfer
      where remote_id is not null order by gateway`)

  it('are both adopted', async () => {
    const engine = await watchBoth()
    await engine.start()
    await waitUntil(async () => (await adopted()).length === 2)
    expect(await adopted()).toEqual([
      { gateway: 'default', key: 'adopted remote-1', id: 'remote-1' },
      { gateway: 'second', key: 'adopted second remote-1', id: 'remote-1' },
    ])
    // A list that was read meanwhile may have noted them once more.
    await waitUntil(async () => (await rows('select 1 from outlay.found_transfer')).length === 0)
  })

  it('stay found with a problem where a row cannot be written', async () => {
    const engine = await watchBoth()
    const { id } = await enqueue(engine)
    await rows(
      `update outlay.transfer set idempotency_key = 'adopted second remote-1', stage = 'settled', status = 'canceled'
      where id = $1`,
      [id],
    )
    await engine.start()
    const found = () =>
      rows('select account_id, remote_id, problem from outlay.found_transfer where problem is not null')
    await waitUntil(async () => (await found()).length > 0)
    expect(await found()).toEqual([
      { account_id: 'second acme', remote_id: 'remote-1', problem: expect.stringContaining('transfer_key') },
    ])
  })
})

describe('a webhook', () => {
  it('is never verified by a name that no gateway has', () => {
    const verifier = { verify: async () => undefined }
    expect(() => two().make({ webhooks: { defualt: verifier } })).toThrow('webhooks.defualt: is no gateway')
  })

  it('is about the transfer of its gateway', async () => {
    const { make, choose } = two({
      webhooks: {
        default: { verify: () => Promise.reject(new Error('not this one')) },
        second: { verify: async () => ({ remoteId: 'remote-1', status: 'complete', failure: null }) },
      },
    })
    const engine = make({ polling: {} })
    const one = await enqueue(engine)
    choose('second')
    const other = await enqueue(engine)
    await engine.start()
    await reach(engine, one.id, { stage: 'submitted' })
    await reach(engine, other.id, { stage: 'submitted' })
    const webhook = { body: '', headers: {} }
    await expect(engine.webhook(webhook, { accountId: 'acme' })).rejects.toMatchObject({ field: 'gateway' })
    expect(await engine.webhook(webhook, { accountId: 'acme', gateway: 'second' })).toMatchObject({ changed: 1 })
    expect(await engine.transfers.get(other.id)).toMatchObject({ status: 'complete' })
    expect(await engine.transfers.get(one.id)).toMatchObject({ status: 'processing' })
  })
})
