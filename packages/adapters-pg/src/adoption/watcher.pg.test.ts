import { type EventType, type Gateway, isAdopted, type TransferEvent } from '@outlay/core'
import { drain, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type OpenOptions, reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { countJobs, removeJobs } from '../../test/queue.ts'

const types: readonly EventType[] = ['transfer.adopted', 'transfer.processing', 'transfer.completed', 'transfer.failed']

describe('a transfer of others', async () => {
  const { pool, open, commit, enqueue, forgetRequests } = await testHost()

  function make(gateway = listedGateway(), options: OpenOptions = {}) {
    // Without a wake-up the refused transfer goes out again after half a minute.
    const engine = open({ gateway, fraction: 0.99, polling: { maxDelayMs: 50 }, ...options })
    const received: TransferEvent[] = []
    engine.subscribe('books', types, async (event) => {
      received.push(event)
    })
    return { engine, gateway, received }
  }
  const rows = async () => (await pool.query('select * from outlay.transfer order by created_at')).rows
  const found = async () => (await pool.query('select remote_id from outlay.found_transfer order by 1')).rows
  /** Reads whole lists of a watched account twice from now on, so that everything which is there now has been found. */
  const readings = async ({ requests }: ReturnType<typeof listedGateway>) => {
    const before = requests.list
    await waitUntil(() => requests.list >= before + 2)
  }

  it('becomes a transfer here, with its events, and is polled to its end', async () => {
    const { engine, gateway, received } = make()
    expect(await commit((tx) => engine.accounts.watch(tx, 'acme'))).toBe(true)
    expect(await commit((tx) => engine.accounts.watch(tx, 'acme'))).toBe(false)
    const { id: remoteId } = gateway.add()
    await engine.start()
    const event = await waitUntil(() => received.find(({ type }) => type === 'transfer.adopted'))
    expect(event).toMatchObject({ accountId: 'acme', sequence: 1 })
    expect(event.transfer).toMatchObject({
      idempotencyKey: `adopted ${remoteId}`,
      remoteId,
      stage: 'submitted',
      attempt: 0,
      request: { amount: { value: '250.00', currency: 'USD' }, destination: { transferType: 'base' } },
    })
    gateway.setStatus(remoteId, 'processing')
    await waitUntil(() => received.some(({ type }) => type === 'transfer.processing'))
    gateway.setStatus(remoteId, 'complete')
    await drain(engine)
    expect(received.map(({ type }) => type)).toEqual(['transfer.adopted', 'transfer.processing', 'transfer.completed'])
    expect(await countJobs(pool)).toBe(0)
    const transfer = await engine.transfers.get(event.transferId)
    expect(transfer).toMatchObject({ stage: 'settled', status: 'complete' })
    expect(transfer && isAdopted(transfer)).toBe(true)
  })

  it.each([
    ['beside others', 100],
    ['on a page of its own', 1],
  ])('that cannot be read %s is adopted when it can', async (_, size) => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
    const gateway = listedGateway()
    const old = gateway.add({ createdAt: hoursAgo(20) })
    const broken = gateway.add({ createdAt: hoursAgo(10) })
    const last = gateway.add({ createdAt: hoursAgo(1) })
    let isBroken = true
    const list: Gateway['list'] = async (accountId, options) => {
      const page = await gateway.list?.(accountId, { ...options, limit: size })
      const all = page?.observations ?? []
      const observations = all.filter(({ remoteId }) => !isBroken || remoteId !== broken.id)
      return { observations, next: page?.next, unreadable: all.length - observations.length }
    }
    const { engine } = make({ ...gateway, list })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: hoursAgo(24) }))
    await engine.start()
    await waitUntil(async () => (await rows()).length === 2)
    await readings(gateway)
    isBroken = false
    await waitUntil(async () => (await rows()).length === 3)
    expect((await rows()).map((row) => row.remote_id).sort()).toEqual([old.id, broken.id, last.id].sort())
  })

  it('is not there before the account is watched from, and not after it is unwatched', async () => {
    const { engine, gateway, received } = make()
    gateway.add({ status: 'complete' })
    const since = new Date(Date.now() + 3_600_000)
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since }))
    const { id: remoteId } = gateway.add({ createdAt: since.toISOString(), status: 'complete' })
    await engine.start()
    await waitUntil(() => received.length === 2)
    expect((await rows()).map((row) => row.remote_id)).toEqual([remoteId])
    expect(await commit((tx) => engine.accounts.unwatch(tx, 'acme'))).toBe(true)
    expect(await commit((tx) => engine.accounts.unwatch(tx, 'acme'))).toBe(false)
    const late = gateway.add({ createdAt: new Date(since.getTime() + 1).toISOString() })
    await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe(late.id)]))
    // A page that was read before the adoption may have noted the first one again.
    expect((await found()).map((row) => row.remote_id)).not.toContain(late.id)
    await expect(commit((tx) => engine.accounts.watch(tx, 'acme', { since: 'soon' }))).rejects.toMatchObject({
      code: 'invalid_request',
      issues: [{ field: 'since' }],
    })
    await expect(commit((tx) => engine.accounts.watch(tx, ''))).rejects.toMatchObject({
      code: 'invalid_id',
      issues: [{ field: 'accountId' }],
    })
  })

  it('is not one that was sent from here and accepted after it had been canceled', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const { id } = await enqueue(engine)
    await pool.query(`select * from outlay.fetch_and_claim(1, 'slow', '', null)`)
    await pool.query(`update outlay.transfer set stage = 'queued' where id = $1`, [id])
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, id))
    const { id: remoteId } = gateway.add({ status: 'complete' })
    const accepted = { stage: 'submitted', status: 'processing', outcome: 'accepted', remote_id: remoteId, events: [] }
    await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify([{ id, attempt: 1, ...accepted }])])
    await engine.start()
    const { id: other } = gateway.add({ status: 'complete' })
    await waitUntil(async () => (await rows()).some((row) => row.remote_id === other))
    expect((await rows()).map((row) => row.remote_id)).toEqual([null, other])
  })

  it('is still adopted after its account is unwatched, if it was found before and waited for an answer', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const { id } = await enqueue(engine)
    await pool.query(`select * from outlay.fetch_and_claim(1, 'gone', '', null)`)
    const { id: remoteId } = gateway.add({ status: 'complete' })
    await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe(remoteId)]))
    expect(await commit((tx) => engine.accounts.unwatch(tx, 'acme'))).toBe(true)
    expect(await found()).toEqual([{ remote_id: remoteId }])
    await pool.query(`update outlay.transfer set stage = 'settled', status = 'failed' where id = $1`, [id])
    await removeJobs(pool)
    await forgetRequests()
    await engine.start()
    await waitUntil(async () => (await found()).length === 0)
    expect((await rows()).map((row) => row.remote_id)).toEqual([null, remoteId])
  })

  it('is adopted once, however many workers find it and however often it is reported', async () => {
    const gateway = listedGateway()
    const hosts = [make(gateway), make(gateway), make(gateway)]
    const [first] = hosts
    if (first === undefined) throw new Error('There are three hosts.')
    await commit((tx) => first.engine.accounts.watch(tx, 'acme'))
    const made = Array.from({ length: 150 }, () => gateway.add({ status: 'complete' }))
    const seen = made.map(({ id }) => gateway.observe(id))
    await Promise.all(hosts.map(({ engine }) => engine.start()))
    await Promise.all(
      hosts.flatMap(({ engine }) => [1, 2, 3].map(() => commit((tx) => engine.transfers.observe(tx, 'acme', seen)))),
    )
    await waitUntil(async () => (await rows()).length === 150 && (await found()).length === 0)
    await readings(gateway)
    await drain(first.engine)
    await Promise.all(hosts.map(({ engine }) => engine.stop()))
    expect(new Set((await rows()).map((row) => row.remote_id)).size).toBe(150)
    const events = await pool.query('select type, count(*)::integer as n from outlay.event group by 1 order by 1')
    expect(events.rows).toEqual([
      { type: 'transfer.adopted', n: 150 },
      { type: 'transfer.completed', n: 150 },
    ])
    expect(hosts.flatMap(({ received }) => received).length).toBe(300)
  })

  it('is none while it may be what became of a request from here whose answer is lost', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const answered = Promise.withResolvers<void>()
    gateway.answer = async ({ attempt }, moment) => {
      if (moment === 'before') return undefined
      if (attempt === 1) return { outcome: 'unknown', detail: 'lost' }
      await answered.promise
      return undefined
    }
    await engine.start()
    const { id } = await enqueue(engine)
    await waitUntil(() => gateway.transfers.size === 1)
    // The service lists it and reports it, and no row here has its id.
    await commit((tx) => engine.transfers.observe(tx, 'acme', [gateway.observe('remote-1')]))
    expect(await found()).toEqual([{ remote_id: 'remote-1' }])
    // A transfer of an automation is certain, and does not wait.
    const { id: deposit } = gateway.add({ automationId: 'automation', status: 'complete' })
    await waitUntil(async () => (await rows()).length === 2)
    expect((await rows()).map((row) => row.remote_id)).toEqual([null, deposit])
    expect(await found()).toContainEqual({ remote_id: 'remote-1' })
    answered.resolve()
    await reach(engine, id, { remoteId: 'remote-1' })
    await waitUntil(async () => (await found()).length === 0)
    expect((await rows()).map((row) => row.remote_id)).toEqual(['remote-1', deposit])
  })

  it('is none while the key of a request from here is in flight at the service, whatever its account waits for', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    gateway.answer = async ({ attempt }, moment) =>
      moment === 'after' && attempt === 1
        ? { outcome: 'throttled', detail: 'in flight', httpStatus: 409, retryAfterMs: 1 }
        : undefined
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: 0.01 }))
    const { id } = await enqueue(engine)
    await engine.start()
    await reach(engine, id, { reason: 'account_limited' })
    await readings(gateway)
    expect((await rows()).map((row) => row.id)).toEqual([id])
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: null }))
    await reach(engine, id, { remoteId: 'remote-1' })
    await waitUntil(async () => (await found()).length === 0)
    expect((await rows()).map((row) => row.id)).toEqual([id])
  })

  it('is adopted as soon as every request that left before it was seen is answered', async () => {
    const { engine, gateway, received } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const answered = Promise.withResolvers<undefined>()
    const slow = await enqueue(engine)
    gateway.answer = (submission, moment) =>
      submission.transferId === slow.id && moment === 'after' ? answered.promise : undefined
    await engine.start()
    await waitUntil(() => gateway.transfers.size === 1)
    const { id: foreign } = gateway.add()
    await waitUntil(async () => (await found()).length === 2)
    expect(received).toEqual([])
    answered.resolve(undefined)
    await waitUntil(() => received.some(({ type }) => type === 'transfer.adopted'))
    expect(received.map(({ transfer }) => transfer.remoteId)).toEqual([foreign])
    expect((await rows()).map((row) => row.remote_id)).toEqual(['remote-1', foreign])
  })

  it('can be neither canceled, nor released, nor enqueued again', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const open = gateway.add()
    const canceled = gateway.add({ status: 'canceled' })
    await engine.start()
    await waitUntil(async () => (await rows()).length === 2)
    const idOf = async (remoteId: string) => (await rows()).find((row) => row.remote_id === remoteId)?.id
    const id = await idOf(open.id)
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(false)
    const ended = await idOf(canceled.id)
    await expect(commit((tx) => engine.transfers.resubmit(tx, ended))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('releases the transfers that await what it brings to their wallet, and no others', async () => {
    const { engine, gateway, received } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    let funded = false
    gateway.answer = async (_submission, moment) =>
      moment === 'before' && !funded ? { outcome: 'insufficient_balance', detail: 'short' } : undefined
    await engine.start()
    const [{ id }, { id: other }] = await commit(async (tx) => [
      await engine.transfers.enqueue(tx, samplePayout('acme')),
      await engine.transfers.enqueue(
        tx,
        samplePayout('acme', {
          source: { addressId: '01J0000000000000000000000C', valueType: 'USDC', transferType: 'base' },
        }),
      ),
    ])
    await waitUntil(async () => (await engine.backlog()).awaitingFunds === 2)
    const deposit = gateway.add({ automationId: 'automation' })
    await waitUntil(() => received.some(({ type }) => type === 'transfer.adopted'))
    funded = true
    gateway.setStatus(deposit.id, 'complete')
    await reach(engine, id, { stage: 'submitted' })
    expect(await engine.transfers.get(id)).toMatchObject({ attempt: 2 })
    expect(await engine.transfers.get(other)).toMatchObject({ stage: 'awaiting_funds', attempt: 1 })
  })

  it('that completes while a refusal for lack of funds is on its way releases that transfer too', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const refused = Promise.withResolvers<void>()
    gateway.answer = async ({ attempt }, moment) => {
      if (moment === 'after' || attempt > 1) return undefined
      await refused.promise
      return { outcome: 'insufficient_balance', detail: 'short' }
    }
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitting' })
    gateway.add({ automationId: 'automation', status: 'complete' })
    await waitUntil(async () => (await rows()).some((row) => row.status === 'complete'))
    refused.resolve()
    await reach(engine, id, { stage: 'submitted' })
    expect(await engine.transfers.get(id)).toMatchObject({ attempt: 2 })
  })

  it('is found behind any number of pages after one with a time in the future', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    gateway.add({ status: 'complete', createdAt: '2099-01-01T00:00:00.000Z' })
    await engine.start()
    await waitUntil(async () => (await rows()).length === 1)
    await readings(gateway)
    for (let count = 0; count < 250; count += 1) gateway.add({ status: 'complete' })
    await waitUntil(async () => (await rows()).length === 251)
  })

  it('is found behind any number of pages although the list could not be read at first', async () => {
    const { engine, gateway } = make()
    const since = new Date(Date.now() - 3_600_000)
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since }))
    const createdAt = new Date(Date.now() - 1_800_000).toISOString()
    for (let count = 0; count < 250; count += 1) gateway.add({ status: 'complete', createdAt })
    let failures = 0
    gateway.onList = () => (++failures > 2 ? undefined : Promise.reject(new Error('The service is away.')))
    await engine.start()
    await waitUntil(async () => (await rows()).length === 250)
  })

  it('is found behind any number of pages, in turns', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    for (let count = 0; count < 2_500; count += 1) gateway.add({ status: 'complete' })
    await engine.start()
    await waitUntil(async () => (await rows()).length === 2_500, { timeoutMs: 100_000 })
    // Each reading overlaps the one before, so some are seen again as they are adopted.
    await waitUntil(async () => (await found()).length === 0)
    expect(new Set((await rows()).map((row) => row.remote_id)).size).toBe(2_500)
  })
})
