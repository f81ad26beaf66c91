import type { EngineOptions, SubmitResult, TransferEvent } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { slowWorker } from '../../test/slow-worker.ts'

type Options = Partial<EngineOptions<pg.PoolClient>>

const host = await testHost()
const { rows, commit, open, enqueue } = host

/** What a gateway answers that has closed the key. */
const closed: SubmitResult = {
  ...{ outcome: 'rejected', code: 'corridor_closed', detail: 'No such rail.' },
  ...{ httpStatus: 422, keyEvaluated: true, nothingMoved: true },
}

/** Two services that give the same ids, so that one is never taken for the other by luck. */
function two(options: Options = {}) {
  const first = memoryGateway({ status: 'processing' })
  const second = memoryGateway({ status: 'processing' })
  const make = (others: Options = {}) =>
    open({
      gateways: { default: first, second },
      route: () => 'default',
      reroute: (_request, _accountId, { gateway }) => (gateway === 'default' ? 'second' : 'default'),
      polling: { maxDelayMs: 50 },
      fraction: 0.001,
      ...options,
      ...others,
    })
  return { first, second, make }
}

const logOf = (id: string) =>
  rows('select a.gateway, a.outcome from outlay.attempt a where a.transfer_id = $1 order by a.attempt', [id])

describe('a refusal that proves that nothing moved', () => {
  it('lets the other gateway pay, under the same key and id, and says so in the log, in an event and in the view', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(() => closed)
    const seen: Pick<TransferEvent, 'type' | 'sequence' | 'transfer'>[] = []
    engine.subscribe('books', ['transfer.rerouted', 'transfer.submitted', 'transfer.failed'], async (event) => {
      seen.push(event)
    })
    const { id } = await enqueue(engine)
    await engine.start()
    const transfer = await reach(engine, id, { stage: 'submitted', gateway: 'second', attempt: 2 })
    expect(transfer).toMatchObject({ status: 'processing', failure: null, reason: null })
    expect(await logOf(id)).toEqual([
      { gateway: 'default', outcome: 'rejected' },
      { gateway: 'second', outcome: 'accepted' },
    ])
    expect(first.submissions.map(({ idempotencyKey }) => idempotencyKey)).toEqual(
      second.submissions.map(({ idempotencyKey }) => idempotencyKey),
    )
    await waitUntil(() => seen.length === 2)
    expect(seen.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['transfer.rerouted', 2],
      ['transfer.submitted', 3],
    ])
    expect(seen[0]?.transfer.gateway).toBe('second')
    expect(await rows('select gateway, rerouted_from from outlay.transfers where id = $1', [id])).toEqual([
      { gateway: 'second', rerouted_from: ['default'] },
    ])
    expect((await host.outcomes(id))[0].detail).toBe('No such rail.; rerouted to second')
    second.setStatus('remote-1', 'complete')
    await reach(engine, id, { stage: 'settled', status: 'complete' })
  })

  it('asks each gateway once', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(() => closed)
    second.script(() => closed)
    const { id } = await enqueue(engine)
    await engine.start()
    const failed = await reach(engine, id, { stage: 'settled', status: 'failed', gateway: 'second' })
    expect(failed.failure).toMatchObject({ code: 'corridor_closed' })
    expect([first.submissions.length, second.submissions.length]).toEqual([1, 1])
    expect((await host.outcomes(id))[1].detail).toContain('not rerouted to default')
  })

  it('changes nothing of other transfers of the account, nor of a second enqueue with its key', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(({ request }) => (request.note === 'closed' ? closed : undefined))
    const payout = samplePayout('acme', { idempotencyKey: 'rent', note: 'closed' })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, payout))
    const other = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { stage: 'submitted', gateway: 'second' })
    await reach(engine, other.id, { stage: 'submitted', gateway: 'default' })
    const again = await commit((tx) => engine.transfers.enqueue(tx, payout))
    expect(again).toMatchObject({ id, reused: true, gateway: 'second' })
    expect([first.transfers.size, second.transfers.size]).toEqual([1, 1])
  })

  it('lets a transfer wait for a gateway that is stopped, which is canceled like any other or sent when the stop ends', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(() => closed)
    await commit((tx) => engine.stops.add(tx, { scope: 'gateway', name: 'second' }))
    const [one, other] = [await enqueue(engine), await enqueue(engine)]
    await engine.start()
    await reach(engine, one.id, { gateway: 'second', reason: 'gateway_held' })
    await reach(engine, other.id, { gateway: 'second', reason: 'gateway_held' })
    await commit((tx) => engine.transfers.cancel(tx, other.id))
    await commit((tx) => engine.stops.end(tx, { scope: 'gateway', name: 'second' }))
    await reach(engine, one.id, { stage: 'submitted', gateway: 'second' })
    expect(second.submissions.map(({ transferId }) => transferId)).toEqual([one.id])
    expect(await engine.transfers.get(other.id)).toMatchObject({ status: 'canceled' })
  })

  it('is resubmitted where it failed, and may be rerouted from there again', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(({ attempt }) => (attempt === 1 ? closed : undefined))
    second.script(() => closed)
    const { id } = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { stage: 'settled', status: 'failed', gateway: 'second' })
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect(again.gateway).toBe('second')
    await reach(engine, again.id, { stage: 'submitted', gateway: 'default' })
  })
})

describe('a transfer stays at its gateway', () => {
  it.each<[string, SubmitResult]>([
    ['that does not say that nothing moved', { ...closed, nothingMoved: false }],
    ['of a server with a fault', { ...closed, httpStatus: 503 }],
    ['of a key in flight', { ...closed, httpStatus: 409 }],
  ])('after a refusal %s', async (_, refusal) => {
    const { first, second, make } = two()
    const engine = make()
    first.script(() => refusal)
    const { id } = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { stage: 'settled', status: 'failed', gateway: 'default' })
    expect(second.submissions).toEqual([])
  })

  it('behind an unknown outcome, however much earlier, whatever proves later that nothing moved', async () => {
    const { first, second, make } = two()
    const engine = make()
    const answers: readonly SubmitResult[] = [
      { outcome: 'unknown', detail: 'reset' },
      { outcome: 'insufficient_balance', detail: 'empty', keyEvaluated: true },
      closed,
    ]
    first.script(({ attempt }) => answers[attempt - 1])
    const { id } = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { stage: 'awaiting_funds' })
    await host.forgetRequests()
    await commit((tx) => engine.transfers.release(tx, id))
    await reach(engine, id, { stage: 'settled', status: 'failed', gateway: 'default' })
    expect(second.submissions).toEqual([])
    expect((await host.outcomes(id)).at(-1)?.detail).toContain('not rerouted to second')
  })

  it('where it gives a counterparty that only this gateway has registered', async () => {
    const { first, second, make } = two()
    const engine = make()
    first.script(() => closed)
    const address = { name: 'Ada', address: '0x52908400098527886E0F7030069857D2E4169EE7', transferTypes: ['base'] }
    const destination = { address, valueType: 'USDC', transferType: 'base' } as never
    const { id } = await enqueue(engine, { amount: { value: '1.00', currency: 'USDC' }, destination })
    await engine.start()
    await reach(engine, id, { stage: 'settled', status: 'failed', gateway: 'default' })
    expect(second.submissions).toEqual([])
  })
})

describe('the database', () => {
  const slow = slowWorker(() => host.pool)
  const sent = { sent_to: 'default', worker: 'slow' }
  const refusal = {
    ...sent,
    ...{ outcome: 'rejected', http_status: 422, detail: 'closed', stage: 'settled', status: 'failed' },
    ...{ events: ['transfer.failed'], reroute_to: 'second' },
  }
  const stateOf = async (id: string) =>
    (await rows('select gateway, stage, status, reason, remote_id from outlay.transfer where id = $1', [id]))[0]
  const claimAtSecond = () =>
    rows(`select id from outlay.fetch_for_gateways(10, 'later', '', null, array['second']) where id is not null`)
  const effectOf = async (id: string) =>
    (await rows('select outlay.effect_of(t) as effect from outlay.transfer t where id = $1', [id]))[0].effect

  async function claimed() {
    const { id } = await enqueue(two().make())
    await slow.claim()
    return id
  }

  async function rerouted() {
    const id = await claimed()
    expect(await slow.settle(id, 1, refusal)).toBe('settled')
    expect(await stateOf(id)).toMatchObject({ gateway: 'second', stage: 'queued', status: 'pending' })
    return id
  }

  it.each<[string, string]>([
    ['an attempt has no answer', `outcome = null, answered_at = null`],
    ['an attempt has an unknown outcome', `outcome = 'unknown'`],
    ['an attempt was accepted', `outcome = 'accepted', remote_id = 'r-0'`],
    ['a key was in flight', `outcome = 'throttled', http_status = 409`],
    ['a server had a fault', `http_status = 503`],
    ['the service accepted an id that it lost', 'unmatched = true'],
    ['a person has dealt with such an id', 'unmatched = false'],
    ['the other gateway was asked before', `gateway = 'second'`],
    ['nobody knows which gateway was asked', 'gateway = null'],
  ])('reroutes nothing where %s, whatever code asks for it', async (_, forged) => {
    const id = await claimed()
    await rows(`update outlay.transfer set attempt = 2 where id = $1`, [id])
    await rows('update outlay.attempt set attempt = 2 where transfer_id = $1', [id])
    await rows(
      `insert into outlay.attempt (transfer_id, attempt, worker, gateway, outcome, answered_at)
       values ($1, 1, 'before', 'default', 'rejected', now())`,
      [id],
    )
    await rows(`update outlay.attempt set ${forged} where transfer_id = $1 and attempt = 1`, [id])
    expect(await slow.settle(id, 2, refusal)).toBe('settled')
    expect(await stateOf(id)).toMatchObject({ gateway: 'default', stage: 'settled', status: 'failed' })
  })

  it.each<[string, object]>([
    [
      'an unknown outcome',
      { outcome: 'unknown', unknown_since: new Date().toISOString(), stage: 'queued', retry_ms: 1 },
    ],
    ['a refusal of a server with a fault', { http_status: 500 }],
    ['an answer to another gateway', { sent_to: 'third' }],
    ['the gateway that it has', { reroute_to: 'default' }],
  ])('reroutes nothing for %s, whatever code asks for it', async (_, changed) => {
    const id = await claimed()
    expect(await slow.settle(id, 1, { ...refusal, ...changed })).toBe('settled')
    expect(await stateOf(id)).toMatchObject({ gateway: 'default' })
  })

  it('reroutes nothing behind a fence, for a claim of others, or beside an acceptance of the same transfer', async () => {
    const id = await claimed()
    expect(await slow.settle(id, 1, { ...refusal, worker: 'somebody else' })).toBe('stale')
    const { job } = (await rows('select outlay.job_id($1) as job', [id]))[0]
    const both = [
      { id, job, attempt: 1, ...refusal },
      { id, job, attempt: 1, ...sent, ...slow.accepted('r-1'), worker: 'lost' },
    ]
    await rows('select outlay.settle($1, 2)', [JSON.stringify(both)])
    expect(await stateOf(id)).toMatchObject({ gateway: 'default', remote_id: 'r-1' })
    const fenced = await claimed()
    await commit((tx) => two().make().fence(tx))
    expect(await slow.settle(fenced, 1, refusal)).toBe('settled')
    expect(await stateOf(fenced)).toMatchObject({ gateway: 'default', status: 'failed' })
  })

  it('gives a transfer back to the first gateway that accepts it late, while the other one was not asked', async () => {
    const id = await rerouted()
    await slow.settle(id, 1, { ...slow.accepted('r-1'), ...sent })
    expect(await stateOf(id)).toMatchObject({ gateway: 'default', stage: 'submitted', remote_id: 'r-1' })
    expect(await effectOf(id)).toBe('known')
    expect(await claimAtSecond()).toEqual([])
    expect(await rows('select from outlay.reroute')).toEqual([])
  })

  it('blocks a transfer that the first gateway accepts after the other one was asked, and sends it nowhere again', async () => {
    const id = await rerouted()
    expect(await claimAtSecond()).toEqual([{ id }])
    await slow.settle(id, 1, { ...slow.accepted('r-1'), ...sent })
    expect(await stateOf(id)).toMatchObject({ stage: 'blocked', reason: 'rerouted_in_doubt', remote_id: null })
    expect(await effectOf(id)).toBe('conflicting')
    const engine = two().make()
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(false)
    await slow.settle(id, 2, { ...refusal, reroute_to: undefined, sent_to: 'second', worker: 'later' })
    expect(await stateOf(id)).toMatchObject({ stage: 'blocked', gateway: 'second' })
    await expect(commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))).rejects.toMatchObject({
      code: 'conflict',
    })
    await host.forgetRequests()
    await commit((tx) => engine.transfers.resolve(tx, id, { remoteId: 'r-1' }))
    expect(await stateOf(id)).toMatchObject({ stage: 'submitted', gateway: 'default', remote_id: 'r-1' })
    expect(await effectOf(id)).toBe('known')
  })

  it.each(['r-1', 'r-2'])(
    'shows a transfer that both gateways have accepted, the second one as %s',
    async (remoteId) => {
      const id = await rerouted()
      expect(await claimAtSecond()).toEqual([{ id }])
      await slow.settle(id, 1, { ...slow.accepted('r-1'), ...sent })
      await slow.settle(id, 2, { ...slow.accepted(remoteId), sent_to: 'second', worker: 'later' })
      expect(await stateOf(id)).toMatchObject({ stage: 'submitted', gateway: 'second', remote_id: remoteId })
      expect(await effectOf(id)).toBe('conflicting')
    },
  )

  it.each(['r-1', 'r-2'])(
    'shows it, too, where the first one accepts it last, and the second one as %s',
    async (remoteId) => {
      const id = await rerouted()
      expect(await claimAtSecond()).toEqual([{ id }])
      await slow.settle(id, 2, { ...slow.accepted(remoteId), sent_to: 'second', worker: 'later' })
      await slow.settle(id, 1, { ...slow.accepted('r-1'), ...sent })
      expect(await stateOf(id)).toMatchObject({ stage: 'submitted', gateway: 'second', remote_id: remoteId })
      expect(await effectOf(id)).toBe('conflicting')
    },
  )

  it('gives a transfer to the gateway that took it over before a restore, and blocks it where the first one was asked again', async () => {
    await rows(`insert into outlay.attended_gateway (name) values ('second')`)
    const late = { ...slow.accepted('r-1'), sent_to: 'second', worker: 'before the restore' }
    const { id: unsent } = await enqueue(two().make())
    await slow.settle(unsent, 2, late)
    expect(await stateOf(unsent)).toMatchObject({ gateway: 'second', stage: 'submitted', remote_id: 'r-1' })
    const asked = await claimed()
    await slow.settle(asked, 2, { ...late, remote_id: 'r-2' })
    expect(await stateOf(asked)).toMatchObject({ gateway: 'default', stage: 'blocked', reason: 'rerouted_in_doubt' })
    expect(await effectOf(asked)).toBe('conflicting')
  })

  it('blocks a transfer where a claim at the first gateway, which a fail-over has lost, ends unknown', async () => {
    const id = await rerouted()
    const since = new Date().toISOString()
    const unknown = { outcome: 'unknown', stage: 'queued', unknown_since: since, claimed_at: since, retry_ms: 1 }
    await slow.settle(id, 1, { ...unknown, ...sent, worker: 'lost' })
    expect(await stateOf(id)).toMatchObject({ gateway: 'second', stage: 'blocked', reason: 'rerouted_in_doubt' })
    expect(await claimAtSecond()).toEqual([])
    expect(await commit((tx) => two().make().transfers.release(tx, id))).toBe(false)
  })
})
