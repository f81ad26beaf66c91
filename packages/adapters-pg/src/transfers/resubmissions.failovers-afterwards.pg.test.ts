import type { EngineOptions, StoredTransfer } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { emptyOutbox } from '../../test/outbox.ts'
import { type RefusingGateway, refusingGateway } from '../../test/refusing-gateway.ts'

type Options = Partial<EngineOptions<pg.PoolClient>>

const { pool, rows, commit, open, enqueue, stopAll } = await testHost()
const since = () => new Date(Date.now() - 3_600_000)
const reconcile = (engine: HostEngine) => engine.reconcile({ since: since() })

/** An engine whose first provider refuses what the second takes. */
function between(first: RefusingGateway, second: RefusingGateway, options: Options = {}) {
  const failover = ({ gateway }: StoredTransfer) => (gateway === 'default' ? 'second' : undefined)
  const gateways = { default: first, second }
  return open({ gateways, route: () => 'default', failover, fraction: 0.001, logger: silentLogger, ...options })
}

const order = { idempotencyKey: 'rent', note: 'rent' }

/** The payment is refused by the first and paid by the second, and then the database has lost all but its enqueue, if that. */
async function lose({ first = refusingGateway(), second = refusingGateway(false), keeps = true } = {}) {
  const engine = between(first, second)
  await engine.start()
  await enqueue(engine, order)
  await waitUntil(() => second.transfers.size === 1)
  await stopAll()
  await emptyOutbox(pool)
  const again = between(first, second)
  // The first would take it now, under another key.
  first.refuses = false
  const id = keeps ? (await enqueue(again, order)).id : undefined
  return { first, second, again, id: id ?? '' }
}

const payments = (...gateways: readonly RefusingGateway[]) =>
  gateways.map(({ transfers }) => transfers.size).reduce((sum, size) => sum + size, 0)

const nextOf = (engine: HostEngine, id: string) =>
  waitUntil(async () => (await engine.transfers.get(id))?.resubmittedAs)

describe('after the promotion of a standby that lacked the settlement and the successor', () => {
  it('the first gateway refuses its key again, and the second answers with what it has paid', async () => {
    const { first, second, again, id } = await lose()
    await again.start()
    const next = await nextOf(again, id)
    await reach(again, next, { stage: 'submitted', remoteId: 'remote-1' })
    expect([first.transfers.size, second.transfers.size]).toEqual([0, 1])
    expect(second.requests.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
      second.requests[0]?.idempotencyKey,
      second.requests[0]?.idempotencyKey,
    ])
  })

  it('nothing is handed over by a gateway that does not say that it keeps its refusals', async () => {
    const first = refusingGateway()
    const forgetful: RefusingGateway = {
      ...first,
      submit: async (...call) => ({ ...(await first.submit(...call)), keyClosed: false }),
    }
    const second = refusingGateway(false)
    const engine = between(forgetful, second)
    await engine.start()
    const { id } = await enqueue(engine, order)
    await reach(engine, id, { stage: 'settled', status: 'failed', reason: null })
    expect(second.requests).toEqual([])
  })
})

describe('behind the fence of a restore', () => {
  it('the first transfer is blocked for a person where the second gateway has a payment like it', async () => {
    const { first, second, again, id } = await lose()
    await commit((tx) => again.fence(tx))
    const { differences, lifted } = await reconcile(again)
    expect(lifted).toBe(false)
    expect(differences).toContainEqual(
      expect.objectContaining({
        ...{ kind: 'blocked', accountId: 'acme', gateway: 'default', transferId: id, open: true },
        evidence: expect.stringContaining('second'),
      }),
    )
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: 'undecided', gateway: 'second', remoteId: 'remote-1' }),
    )
    expect(await again.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    expect((await reconcile(again)).lifted).toBe(false)
    await again.reconcile({ since: since(), acknowledge: true })
    await again.start()
    await enqueue(again, { accountId: 'brick' }).then(({ id: other }) => reach(again, other, { stage: 'submitted' }))
    expect(first.requests.filter(({ accountId }) => accountId === 'acme')).toHaveLength(1)
    expect(second.requests).toHaveLength(1)
  })

  it('it is not sent although the first gateway has forgotten its refusal, and its payment is adopted once a person has decided', async () => {
    const { second, id } = await lose()
    const fresh = refusingGateway(false)
    const engine = between(fresh, second)
    await commit((tx) => engine.fence(tx))
    await reconcile(engine)
    await commit((tx) =>
      engine.transfers.resolve(tx, id, { notPaid: true, reason: 'the second gateway has paid it', actor: 'ann' }),
    )
    const { differences, lifted } = await reconcile(engine)
    expect(lifted).toBe(true)
    expect(differences).toMatchObject([{ kind: 'adopted', gateway: 'second', remoteId: 'remote-1' }])
    await engine.start()
    await enqueue(engine, { accountId: 'brick' }).then(({ id: other }) => reach(engine, other, { stage: 'submitted' }))
    expect(payments(fresh, second)).toBe(2)
    expect(fresh.requests.map(({ accountId }) => accountId)).toEqual(['brick'])
  })

  it('it is blocked in the same way where the second gateway shows that it has paid another amount', async () => {
    const { second, id } = await lose()
    const otherwise: RefusingGateway = {
      ...second,
      async list(...query) {
        const page = await second.list?.(...query)
        const observations = page?.observations.flatMap((one) => {
          if (one.transfer === undefined) return []
          const amount = { ...one.transfer.amount, value: '12.25' }
          return [
            { ...one, status: 'complete' as const, transfer: { ...one.transfer, status: 'complete' as const, amount } },
          ]
        })
        return { observations: observations ?? [] }
      },
    }
    const engine = between(refusingGateway(false), otherwise)
    await commit((tx) => engine.fence(tx))
    const { differences } = await reconcile(engine)
    expect(differences).toContainEqual(expect.objectContaining({ kind: 'blocked', gateway: 'default', transferId: id }))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
  })

  it('it is blocked where a twin waits at the second gateway, which may be that payment as well', async () => {
    const { first, second, again, id } = await lose()
    const twin = open({ gateways: { default: first, second }, route: () => 'second', logger: silentLogger })
    const { id: other } = await enqueue(twin, { ...order, idempotencyKey: 'rent-of-may' })
    await commit((tx) => again.fence(tx))
    await reconcile(again)
    expect(await again.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    // Its own key decides about that one.
    expect(await again.transfers.get(other)).toMatchObject({ stage: 'queued' })
  })

  it('it is blocked in the same way where its payment was adopted before the host has enqueued it again', async () => {
    const { first, second, again } = await lose({ keeps: false })
    await commit((tx) => again.fence(tx))
    const found = await again.reconcile({ since: since(), accounts: ['acme'] })
    expect([found.differences, found.lifted]).toMatchObject([[{ kind: 'adopted', gateway: 'second' }], true])
    await commit((tx) => again.fence(tx))
    const { id } = await enqueue(again, order)
    expect((await reconcile(again)).differences).toMatchObject([
      { kind: 'blocked', gateway: 'default', transferId: id },
    ])
    expect(payments(first, second)).toBe(1)
  })

  it('it is left alone where a row of the second gateway may be that payment', async () => {
    const [first, second] = [refusingGateway(), refusingGateway(false)]
    const engine = between(first, second)
    await engine.start()
    const { id } = await enqueue(engine, order)
    const next = await nextOf(engine, id)
    await reach(engine, next, { stage: 'submitted' })
    await stopAll()
    const again = between(first, second)
    const { id: twin } = await enqueue(again, { ...order, idempotencyKey: 'rent-of-may' })
    await commit((tx) => again.fence(tx))
    const { differences, lifted } = await reconcile(again)
    expect([differences, lifted]).toEqual([[], true])
    await again.start()
    await reach(again, twin, { stage: 'settled', status: 'failed' })
  })

  it('a failure whose handover had not happened yet is handed over once', async () => {
    const [first, second] = [refusingGateway(), refusingGateway(false)]
    const engine = between(first, second)
    await engine.start()
    const { id } = await enqueue(engine, order)
    const lost = await nextOf(engine, id)
    await reach(engine, lost, { stage: 'submitted' })
    await stopAll()
    // The backup is of the moment between the two.
    await rows(`delete from outlay.resubmission`)
    await rows(`update outlay.transfer set idempotency_key = 'moved away', account_id = 'nobody' where id = $1`, [lost])
    await rows(
      `insert into outlay.delivery (subscription, transfer_id, sequence, account_id, type)
       select 'outlay.failover', e.transfer_id, e.sequence, 'acme', e.type from outlay.event e where e.transfer_id = $1 and e.type = 'transfer.failed'`,
      [id],
    )
    const again = between(first, second)
    await again.start()
    const next = await nextOf(again, id)
    await reach(again, next, { stage: 'submitted', remoteId: 'remote-1' })
    expect(payments(first, second)).toBe(1)
  })
})

describe('a request that reaches the first gateway after its refusal', () => {
  it('is refused as well, by the key', async () => {
    const [first, second] = [refusingGateway(), refusingGateway(false)]
    const engine = between(first, second)
    await engine.start()
    const { id } = await enqueue(engine, order)
    await reach(engine, await nextOf(engine, id), { stage: 'submitted' })
    first.refuses = false
    const [late] = first.requests
    if (late === undefined) throw new Error('The first gateway was asked.')
    expect(await first.submit(late, { signal: new AbortController().signal })).toMatchObject({ outcome: 'rejected' })
    expect(payments(first, second)).toBe(1)
  })
})
