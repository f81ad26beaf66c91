import type { Observation, TransferEvent, TransferReturn, WebhookVerifier } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'

/** A verifier of webhooks whose body is the observation. */
const verifier: WebhookVerifier = { verify: async ({ body }) => JSON.parse(String(body)) as Observation }

const back = (value: string, more: Partial<TransferReturn> = {}): TransferReturn => ({
  code: 'R10',
  amount: { value, currency: 'USD' },
  occurredAt: '2026-01-09T09:00:00.000Z',
  ...more,
})

describe('what comes back of a complete transfer', async () => {
  const { pool, driver, open, enqueue, enqueueMany, commit, rows } = await testHost()

  function make() {
    const gateway = listedGateway()
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (fields: unknown) => errors.push(fields) }
    const engine = open({ gateway, webhooks: verifier, logger })
    const received: TransferEvent[] = []
    engine.subscribe('books', ['transfer.completed', 'transfer.failed', 'transfer.returned'], async (event) => {
      received.push(event)
    })
    const receive = (observation: Observation, accountId = 'acme') =>
      engine.webhook({ body: JSON.stringify(observation), headers: {} }, { accountId })
    const report = (remoteId: string, returns: readonly TransferReturn[], status = 'complete' as const) => {
      gateway.setReturns(remoteId, returns)
      return receive({ remoteId, status, failure: null, returns })
    }
    const returned = () => received.flatMap((event) => event.returned ?? [])
    /** A transfer of 12.50 USD that is complete. */
    const complete = async () => {
      await engine.start()
      const { id } = await enqueue(engine)
      await reach(engine, id, { stage: 'submitted' })
      gateway.setStatus('remote-1', 'complete')
      await receive({ remoteId: 'remote-1', status: 'complete', failure: null })
      await waitUntil(() => received.length === 1)
      return id
    }
    return { gateway, engine, receive, report, received, returned, complete, errors }
  }
  const events = () =>
    rows('select type, sequence, stage, status, returned from outlay.event order by transfer_id, sequence')
  const stored = () =>
    rows(
      'select amount::text, sequence is not null as applied, problem from outlay.transfer_return order by occurred_at, amount',
    )
  const stuck = async () =>
    (await rows('select reason, waits_for from outlay.stuck_transfers')).map((row) => row.reason)

  it('is one event for its handler, however often it is reported', async () => {
    const { report, complete, engine, received } = make()
    const id = await complete()
    const before = await engine.transfers.get(id)
    expect(await report('remote-1', [back('12.50')])).toEqual({ status: 200, code: null, changed: 1 })
    expect(await report('remote-1', [back('12.5')])).toEqual({ status: 200, code: null, changed: 0 })
    await waitUntil(() => received.length === 2)
    const all = await Promise.all(Array.from({ length: 8 }, () => report('remote-1', [back('12.50')])))
    expect(all.map(({ changed }) => changed).every((changed) => changed === 0)).toBe(true)
    expect(received[1]).toMatchObject({
      type: 'transfer.returned',
      transfer: { id, stage: 'settled', status: 'complete' },
      returned: { code: 'R10', amount: { value: '12.50', currency: 'USD' }, occurredAt: '2026-01-09T09:00:00.000000Z' },
    })
    const after = await engine.transfers.get(id)
    expect(after).toEqual({ ...before, updatedAt: after?.updatedAt })
    expect(Date.parse(after?.updatedAt ?? '')).toBeGreaterThan(Date.parse(before?.updatedAt ?? ''))
    const timeline = await rows(`select what, detail from outlay.timeline_of($1) where what like '%returned'`, [id])
    expect(timeline).toEqual([{ what: 'transfer.returned', detail: 'settled, complete, R10, 12.50 USD' }])
    expect((await events()).filter(({ type }) => type === 'transfer.returned')).toHaveLength(1)
  })

  it('is one event when two processes observe it at the same moment', async () => {
    const { complete, engine, gateway } = make()
    const id = await complete()
    await engine.stop()
    gateway.setReturns('remote-1', [back('5'), back('7.50')])
    const observations = [gateway.observe('remote-1')]
    const others = [make(), make(), make(), make()]
    await Promise.all(others.map((one) => commit((tx) => one.engine.transfers.observe(tx, 'acme', observations))))
    const found = (await events()).filter(({ type }) => type === 'transfer.returned')
    expect(found.map(({ returned }) => returned.amount.value).sort()).toEqual(['5', '7.50'])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
  })

  it('is not lost to a host that has the transfer locked, nor to one that rolls back', async () => {
    const { report, complete, received, engine, gateway } = make()
    await complete()
    const host = await pool.connect()
    await host.query('begin')
    await host.query('select 1 from outlay.transfer for update')
    expect(await report('remote-1', [back('12.50')])).toEqual({ status: 503, code: 'conflict', changed: 0 })
    await host.query('rollback')
    host.release()
    const rolledBack = driver.transaction(async (tx) => {
      expect(await engine.transfers.observe(tx, 'acme', [gateway.observe('remote-1')])).toBe(1)
      throw new Error('The host changed its mind.')
    })
    await expect(rolledBack).rejects.toThrow('changed its mind')
    expect(await stored()).toEqual([])
    expect(await report('remote-1', [back('12.50')])).toMatchObject({ changed: 1 })
    await waitUntil(() => received.length === 2)
  })

  it('may come in parts, and two that are alike are two', async () => {
    const { report, complete, returned, received } = make()
    await complete()
    await report('remote-1', [back('2.50')])
    await report('remote-1', [back('2.50'), back('2.50')])
    await report('remote-1', [back('7.50', { code: 'R01' }), back('2.50'), back('2.50')])
    await waitUntil(() => received.length === 4)
    expect(returned().map(({ code, amount }) => [code, amount.value])).toEqual([
      ['R10', '2.50'],
      ['R10', '2.50'],
      ['R01', '7.50'],
    ])
  })

  it('comes with a page of the list, for transfers that are not polled any more', async () => {
    const { engine, gateway, received, returned } = make()
    await engine.start()
    await enqueueMany(engine, 40)
    await waitUntil(async () => (await engine.backlog()).submitted === 40)
    const ids = [...gateway.transfers.keys()]
    for (const id of ids.slice(0, 20)) gateway.setStatus(id, 'complete')
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await waitUntil(() => received.length === 20)
    for (const id of ids.slice(0, 10)) gateway.setReturns(id, [back('12.50')])
    await pool.query('update outlay.transfer set next_poll_at = now() where next_poll_at is not null')
    await waitUntil(() => returned().length === 10)
    expect(gateway.requests.get).toBe(0)
  })

  it('waits for the completion when it is known before', async () => {
    const { engine, gateway, receive, received } = make()
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const returns = [back('12.50')]
    expect(await receive({ remoteId: 'remote-1', status: 'processing', failure: null, returns })).toMatchObject({
      changed: 1,
    })
    expect(await stored()).toEqual([{ amount: '12.50', applied: false, problem: null }])
    expect(await stuck()).toEqual([])
    gateway.setStatus('remote-1', 'complete')
    await receive({ remoteId: 'remote-1', status: 'complete', failure: null })
    await waitUntil(() => received.length === 2)
    expect(received.map(({ type }) => type)).toEqual(['transfer.completed', 'transfer.returned'])
    expect(await stored()).toEqual([{ amount: '12.50', applied: true, problem: null }])
  })

  it('waits for the answer to the create', async () => {
    const { engine, gateway, report, received } = make()
    const answered = Promise.withResolvers<undefined>()
    gateway.answer = (_, moment) => (moment === 'after' ? answered.promise : undefined)
    await engine.start()
    await enqueue(engine)
    await waitUntil(() => gateway.transfers.size === 1)
    gateway.setStatus('remote-1', 'complete')
    expect(await report('remote-1', [back('12.50')])).toMatchObject({ status: 200, changed: 0 })
    answered.resolve(undefined)
    await waitUntil(() => received.length === 2)
    expect(received.map(({ type }) => type)).toEqual(['transfer.completed', 'transfer.returned'])
  })

  it.each([
    ['exceeds_transfer', [back('12.51')]],
    ['exceeds_transfer', [back('12.50'), back('0.01', { occurredAt: '2026-01-10T09:00:00.000Z' })]],
    ['other_currency', [back('12.50', { amount: { value: '12.50', currency: 'MXN' } })]],
    ['amount_unknown', [back('12.50', { amount: null })]],
    ['amount_unknown', [back('0')]],
  ])('is held for a person where it contradicts the transfer: %s', async (problem, returns) => {
    const { report, complete, received, errors } = make()
    const id = await complete()
    await report('remote-1', returns)
    await report('remote-1', returns)
    const good = returns.length - 1
    await waitUntil(() => received.length === 1 + good)
    expect((await stored()).filter((row) => row.problem === problem)).toHaveLength(1)
    expect(await stuck()).toEqual([`return_${problem}`])
    expect(errors).toEqual([{ transferId: id, code: 'R10', problem }])
    const held = await rows(`select detail from outlay.timeline_of($1) where what = 'return held'`, [id])
    expect(held).toEqual([{ detail: expect.stringContaining(problem) }])
    // The service corrects what it said.
    await report('remote-1', [
      ...returns.slice(0, good),
      back('0.5', { code: 'R99', amount: good > 0 ? null : back('0.5').amount }),
    ])
    expect(await stuck()).toEqual(good > 0 ? ['return_amount_unknown'] : [])
    await waitUntil(() => received.length === 2)
  })

  it('is withdrawn by a report that waited for the one that recorded it', async () => {
    const { engine, gateway, receive } = make()
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    gateway.setStatus('remote-1', 'processing')
    await receive(gateway.observe('remote-1'))
    const observe = (returns: readonly TransferReturn[]) => (tx: PoolClient) =>
      engine.transfers.observe(tx, 'acme', [{ ...gateway.observe('remote-1'), returns }])
    const first = await pool.connect()
    await first.query('begin')
    await observe([back('12.50')])(first)
    const correcting = commit(observe([]))
    const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await waitUntil(async () => (await rows(waits)).length === 1)
    await first.query('commit')
    first.release()
    await correcting
    expect(await stored()).toEqual([])
  })

  it('of a quoted transfer is the amount in the value type that was asked for', async () => {
    const { engine, gateway, report, received, returned } = make()
    await engine.start()
    const amount = { value: '100', currency: 'USDC' }
    const payee = { addressId: '01J0000000000000000000000B', valueType: 'MXN', transferType: 'spei' }
    const { id } = await enqueue(engine, { amount, destination: payee, quoteId: '01J0000000000000000000000Q' })
    await reach(engine, id, { stage: 'submitted' })
    gateway.setStatus('remote-1', 'complete')
    const pesos = back('740', { amount: { value: '740.00', currency: 'MXN' } })
    const share = { value: '40.000000', currency: 'USDC' }
    await report('remote-1', [{ ...pesos, sourceAmount: share }])
    await waitUntil(() => received.length === 2)
    expect(returned()).toMatchObject([{ code: 'R10', amount: { value: '40.000000', currency: 'USDC' } }])
    // A share of another value type, or none, is not enough.
    const later = { ...pesos, occurredAt: '2026-01-10T09:00:00.000Z' }
    await report('remote-1', [
      { ...pesos, sourceAmount: share },
      { ...later, sourceAmount: { value: '1', currency: 'EUR' } },
    ])
    expect(await stuck()).toEqual(['return_other_currency'])
  })

  it('is held where the transfer has failed', async () => {
    const { engine, gateway, receive, report, received } = make()
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const failure = {
      type: 'rejected',
      code: 'R03',
      detail: '',
      occurredAt: '2026-01-08T09:00:00Z',
      retriable: false,
    } as const
    gateway.setStatus('remote-1', 'failed')
    await receive({ remoteId: 'remote-1', status: 'failed', failure })
    await waitUntil(() => received.length === 1)
    await report('remote-1', [back('12.50')])
    expect(await stuck()).toEqual(['return_not_complete'])
    expect(received.map(({ type }) => type)).toEqual(['transfer.failed'])
  })

  it('concerns nobody where the transfer is one of strangers', async () => {
    const { report, complete, receive } = make()
    await complete()
    expect(
      await receive({ remoteId: 'remote-1', status: 'complete', failure: null, returns: [back('1')] }, 'other'),
    ).toEqual({
      ...{ status: 200, code: null, changed: 0 },
    })
    const stranger = { remoteId: 'remote-9', status: 'complete', failure: null, returns: [back('1')] } as const
    expect(await receive(stranger)).toMatchObject({ status: 200, changed: 0 })
    expect(await stored()).toEqual([])
    expect(await report('remote-1', [])).toMatchObject({ changed: 0 })
  })

  it('is an event of a transfer that others made, also when it came back before the transfer was adopted', async () => {
    const { engine, gateway, receive, report, returned } = make()
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const deposit = gateway.add({ status: 'complete' }).id
    await receive(gateway.observe(deposit))
    await report(deposit, [back('100')])
    gateway.setReturns(deposit, [back('100')])
    await receive(gateway.observe(deposit))
    await engine.start()
    await waitUntil(() => returned().length === 1)
    await report(deposit, [back('100'), back('150', { code: 'R01' })])
    await waitUntil(() => returned().length === 2)
    expect((await events()).map(({ type, sequence }) => [type, sequence])).toEqual([
      ['transfer.adopted', 1],
      ['transfer.completed', 2],
      ['transfer.returned', 3],
      ['transfer.returned', 4],
    ])
  })

  it('is an event of an archived transfer, too', async () => {
    const { complete, engine, report, received } = make()
    const id = await complete()
    await waitUntil(async () => (await engine.archive({ olderThanMs: 0 })).archived === 1)
    await report('remote-1', [back('12.50')])
    await waitUntil(() => received.length === 2)
    const types = (await rows('select type from outlay.events_of($1) order by sequence', [id])).map(({ type }) => type)
    expect(types).toEqual(['transfer.enqueued', 'transfer.submitted', 'transfer.completed', 'transfer.returned'])
  })
})
