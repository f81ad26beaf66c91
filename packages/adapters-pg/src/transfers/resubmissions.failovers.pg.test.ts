import type { EngineOptions, Policy, StoredTransfer, SubmitResult } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { refusal, refusingGateway } from '../../test/refusing-gateway.ts'
import { postgres } from '../backend.ts'
import { inspect } from '../inspection/inspection.ts'

type Options = Partial<EngineOptions<pg.PoolClient>>

const { driver, rows, commit, open, enqueue, forgetRequests } = await testHost()

const toSecond = ({ gateway }: StoredTransfer) => (gateway === 'default' ? 'second' : undefined)

/** The first refuses what the second takes. */
function two(options: Options = {}) {
  const [first, second] = [refusingGateway(), refusingGateway(false)]
  const warnings: string[] = []
  const note = (_: unknown, message: string) => void warnings.push(message)
  const make = (others: Options = {}) =>
    open({
      ...{ gateways: { default: first, second }, route: () => 'default', failover: toSecond, fraction: 0.001 },
      logger: { ...silentLogger, warn: note, error: note },
      ...options,
      ...others,
    })
  return { first, second, warnings, make }
}

/** The transfer that one was handed over to. */
const successorOf = (engine: ReturnType<typeof open>, id: string) =>
  waitUntil(async () => {
    const { resubmittedAs } = (await engine.transfers.get(id)) ?? {}
    return resubmittedAs === undefined ? undefined : engine.transfers.get(resubmittedAs)
  })

describe('a transfer that its gateway has refused for good', () => {
  it('ends there, and a successor of its own goes to the gateway that failover names', async () => {
    const { first, second, make } = two()
    const engine = make()
    const reasons: unknown[] = []
    engine.subscribe('host', ['transfer.failed'], async ({ transfer }) => void reasons.push(transfer.reason))
    await engine.start()
    const { id } = await enqueue(engine, { idempotencyKey: 'rent', createdBy: 'ann', metadata: { order: '7' } })
    const next = await successorOf(engine, id)
    await reach(engine, next?.id ?? '', { stage: 'submitted' })
    expect(next).toMatchObject({
      ...{ gateway: 'second', resubmissionOf: id, idempotencyKey: 'rent:at:second' },
      ...{ createdBy: 'ann', metadata: { order: '7' } },
    })
    expect(await engine.transfers.get(id)).toMatchObject({
      ...{ gateway: 'default', stage: 'settled', status: 'failed', reason: 'failover', resubmittedAs: next?.id },
      failure: { type: 'rejected', code: 'limit_reached' },
    })
    expect([first.transfers.size, second.transfers.size]).toEqual([0, 1])
    await waitUntil(() => reasons.length === 1)
    expect(reasons).toEqual(['failover'])
    const [audited] = await rows(`select command, actor, reason, after ->> 'gateway' as gateway from outlay.audit`)
    expect(audited).toMatchObject({ command: 'transfers.resubmit', actor: null, gateway: 'second' })
  })

  it.each<[string, SubmitResult]>([
    ['the refusal is not kept', { ...refusal, keyClosed: false }],
    ['the key was not evaluated', { ...refusal, keyEvaluated: false }],
  ])('stays failed where %s', async (_, answer) => {
    const { second, make } = two()
    const first = { ...refusingGateway(), submit: async () => answer }
    const engine = make({ gateways: { default: first, second } })
    await engine.start()
    const one = await enqueue(engine)
    await reach(engine, one.id, { stage: 'settled', status: 'failed', reason: null })
    // Its event is handled by then: events of an account are handled in their order.
    await waitUntil(async () => (await rows('select 1 from outlay.delivery')).length === 0)
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 1 }])
    expect(second.requests).toEqual([])
  })

  it('is not handed over while its outcome is unknown', async () => {
    const { first, second, make } = two()
    const lost: SubmitResult = { outcome: 'unknown', detail: 'lost', keyEvaluated: true, keyClosed: true }
    const engine = make({ gateways: { default: { ...first, submit: async () => lost }, second } })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { reason: 'outcome_unknown', stage: 'queued' })
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 1 }])
  })

  it('asks each gateway once, whatever failover says', async () => {
    const providers = { default: refusingGateway(), second: refusingGateway(), third: refusingGateway() }
    const next: Record<string, string> = { default: 'second', second: 'third', third: 'default' }
    const { make } = two({ gateways: providers, failover: ({ gateway }) => next[gateway] })
    const engine = make()
    await engine.start()
    const { id } = await enqueue(engine)
    const second = await successorOf(engine, id)
    const third = await successorOf(engine, second?.id ?? '')
    await reach(engine, third?.id ?? '', { stage: 'settled', reason: null })
    await waitUntil(async () => (await rows('select 1 from outlay.delivery')).length === 0)
    expect(await rows('select gateway from outlay.transfer order by created_at')).toEqual(
      ['default', 'second', 'third'].map((gateway) => ({ gateway })),
    )
    expect(Object.values(providers).map(({ requests }) => requests.length)).toEqual([1, 1, 1])
  })

  it('has one successor after a handover that broke off, among several workers', async () => {
    const { second, make } = two()
    let breaks = 2
    const backend = postgres({ driver })
    const broken: typeof backend = {
      ...backend,
      async recordAudit(tx, entry) {
        await backend.recordAudit(tx, entry)
        breaks -= 1
        if (breaks >= 0) throw new Error('the process dies here')
      },
    }
    const engines = [make({ backend: broken }), make({ backend: broken })]
    for (const engine of engines) await engine.start()
    const [engine] = engines as [ReturnType<typeof open>]
    const { id } = await enqueue(engine)
    await waitUntil(() => breaks <= 0)
    await rows('update outlay.delivery set due_at = now(), ready = true')
    const next = await successorOf(engine, id)
    await reach(engine, next?.id ?? '', { stage: 'submitted' })
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 2 }])
    expect(second.transfers.size).toBe(1)
  })

  it('is handed over only once no request of it can arrive any more', async () => {
    const { second, make } = two()
    const engine = make()
    const { id } = await enqueue(engine)
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.delivery where failures > 0')).length === 1)
    expect(second.requests).toEqual([])
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await reach(engine, (await successorOf(engine, id))?.id ?? '', { stage: 'submitted' })
  })

  it('keeps its batch from completing until its successor is in it', async () => {
    const { make } = two()
    const engine = make()
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { batchId })
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await commit((tx) => engine.batches.close(tx, batchId))
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.delivery where failures > 0')).length === 1)
    await rows('select outlay.fold_batches(100)')
    expect(await engine.batches.get(batchId)).toMatchObject({ completedAt: null, counts: { failed: 1 } })
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
    const next = await successorOf(engine, id)
    expect(next?.batchId).toBe(batchId)
  })

  it('stays failed where its batch is canceled first', async () => {
    const { second, make } = two()
    const engine = make()
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const { id } = await enqueue(engine, { batchId })
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.delivery where failures > 0')).length === 1)
    expect(await commit((tx) => engine.batches.cancel(tx, batchId))).toEqual({ canceled: 0, unended: 0 })
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await waitUntil(async () => (await engine.batches.get(batchId))?.completedAt !== null)
    await waitUntil(async () => (await rows('select 1 from outlay.delivery')).length === 0)
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'failed', reason: null })
    expect(second.requests).toEqual([])
  })

  it('is handed over later by a worker that knows where to, where another one does not', async () => {
    const { second, make } = two()
    const engine = make()
    const { id } = await enqueue(engine)
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.delivery where failures > 0')).length === 1)
    await engine.stop()
    await forgetRequests()
    const earlier = make({ failover: () => undefined })
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await earlier.start()
    const known = (await rows('select failures from outlay.delivery'))[0]?.failures
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await waitUntil(async () => (await rows('select failures from outlay.delivery'))[0]?.failures > known)
    await earlier.stop()
    expect([second.requests, (await engine.transfers.get(id))?.resubmittedAs]).toEqual([[], undefined])
    const later = make()
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await later.start()
    await reach(later, (await successorOf(later, id))?.id ?? '', { stage: 'submitted' })
  })

  it('is the one that a host resubmits at the same gateway, and has a successor for all others', async () => {
    const { make } = two()
    const engine = make()
    await engine.start()
    const { id } = await enqueue(engine)
    const next = await successorOf(engine, id)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { gateway: 'second' }))
    expect(again).toMatchObject({ id: next?.id, reused: true })
    await expect(commit((tx) => engine.transfers.resubmit(tx, id))).rejects.toMatchObject({
      ...{ code: 'conflict', message: expect.stringContaining(`was resubmitted as ${next?.id}`) },
    })
  })

  it('is not handed over where it is older than the keys of the other gateway may be', async () => {
    const { second, make, warnings } = two()
    const engine = make()
    const { id } = await enqueue(engine)
    await rows(`update outlay.transfer set created_at = created_at - interval '11 days'`)
    await engine.start()
    await reach(engine, id, { stage: 'settled', reason: null })
    expect([second.requests, warnings]).toEqual([[], []])
  })

  it.each([
    ['the time to send it is over', `expires_at = now() - interval '1 second'`],
    ['it has a quote, which is of its gateway', `request = request || '{"quoteId": "01J0000000000000000000000Q"}'`],
  ])('is not handed over where %s', async (_, change) => {
    const { second, make } = two()
    const overtaken = async () => {
      await rows(`update outlay.transfer set ${change}`)
      return refusal
    }
    const engine = make({ gateways: { default: { ...refusingGateway(), submit: overtaken }, second } })
    const { id } = await enqueue(engine)
    if (change.startsWith('request')) await rows(`update outlay.transfer set ${change}`)
    await engine.start()
    await reach(engine, id, { stage: 'settled', reason: null })
    expect(second.requests).toEqual([])
    if (!change.startsWith('request')) return
    const elsewhere = commit((tx) => engine.transfers.resubmit(tx, id, { gateway: 'second' }))
    await expect(elsewhere).rejects.toMatchObject({ code: 'conflict', field: 'gateway' })
  })

  it('leaves for the first time while the other gateway would know the same key of a successor that was lost', async () => {
    const { make } = two()
    const engine = make()
    await engine.start()
    const { id, createdAt } = await enqueue(engine)
    const next = await successorOf(engine, id)
    expect(Date.parse(next?.expiresAt ?? '') - Date.parse(createdAt)).toBe(10 * 24 * 3_600_000)
  })

  it('is held by policies as a resubmission is, and fails once more, as the doctor says, where one refuses it', async () => {
    const { second, make, warnings } = two()
    const engine = make()
    const ends: unknown[] = []
    engine.subscribe(
      'host',
      ['transfer.failed'],
      async ({ transfer }) => void ends.push([transfer.id, transfer.reason]),
    )
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    const { id: refused } = await enqueue(engine, { accountId: 'brick' })
    const policies: readonly Policy[] = [
      { name: 'seen', when: { accounts: ['acme'] }, hold: 'a person decides' },
      { name: 'none', when: { accounts: ['brick'] }, refuse: 'not today' },
    ]
    await commit((tx) => engine.policies.set(tx, policies, { actor: 'ann', reason: 'as the board decided' }))
    await engine.start()
    const next = await successorOf(engine, id)
    expect(next).toMatchObject({ gateway: 'second', stage: 'held' })
    await waitUntil(() => warnings.some((one) => one.includes('not enqueued at another gateway')))
    await waitUntil(() => ends.length === 3)
    expect(ends).toEqual(
      expect.arrayContaining([
        [id, 'failover'],
        [refused, 'failover'],
        [refused, 'failover_refused'],
      ]),
    )
    const ended = await engine.transfers.get(refused)
    expect([ended?.status, ended?.reason, ended?.resubmittedAs]).toEqual(['failed', 'failover_refused', undefined])
    expect(second.requests).toEqual([])
    const inspection = inspect({ driver })
    expect((await inspection.health()).transfers.failoverEnded).toMatchObject({ count: 1, samples: [refused] })
    await commit((tx) => engine.policies.set(tx, [], { clear: true, actor: 'ann', reason: 'it was a mistake' }))
    await commit((tx) => engine.transfers.resubmit(tx, refused, { gateway: 'second' }))
    expect((await inspection.health()).transfers.failoverEnded.count).toBe(0)
  })

  it('fails once more where it has become too late for a successor', async () => {
    const { second, make } = two()
    const engine = make()
    const ends: unknown[] = []
    engine.subscribe('host', ['transfer.failed'], async ({ transfer }) => void ends.push(transfer.reason))
    const { id } = await enqueue(engine)
    await rows(`insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`, [
      id,
    ])
    await engine.start()
    await waitUntil(async () => (await rows('select 1 from outlay.delivery where failures > 0')).length === 1)
    await rows(`update outlay.transfer set created_at = created_at - interval '11 days'`)
    await forgetRequests()
    await rows('update outlay.delivery set due_at = now(), ready = true')
    await reach(engine, id, { reason: 'failover_late' })
    await waitUntil(() => ends.length === 2)
    expect([ends, second.requests]).toEqual([['failover', 'failover_late'], []])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('oh')
      },
    ],
    ['returns a promise', async () => 'second'],
    ['names none of the gateways', () => 'third'],
  ])('stays failed, with a line in the log, where failover %s', async (_, failover) => {
    const { make, warnings } = two({ failover: failover as never })
    const engine = make()
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'settled', reason: null })
    expect(warnings).toEqual([expect.stringContaining('No gateway takes a refused transfer over')])
  })
})
