import type { Observation, Transfer, TransferEvent, TransferReturn, WebhookVerifier } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { type ListedGateway, listedGateway } from '../../test/listed-gateway.ts'
import { inspect } from '../inspection/inspection.ts'

/** A verifier of webhooks whose body is the observation. */
const verifier: WebhookVerifier = { verify: async ({ body }) => JSON.parse(String(body)) as Observation }

const usd = (value: string) => ({ value, currency: 'USD' })
const back = (value: string, code = 'R10'): TransferReturn => ({
  ...{ code, amount: usd(value), occurredAt: '2026-01-09T09:00:00.000Z' },
})

describe('another amount than was asked for', async () => {
  const { pool, driver, open, enqueue, enqueueMany, commit, rows } = await testHost()
  const inspection = inspect({ driver })

  function make(gateway: ListedGateway = listedGateway()) {
    const logger = recordingLogger()
    const engine = open({ gateway, webhooks: verifier, logger })
    const received: TransferEvent[] = []
    engine.subscribe('books', ['transfer.completed', 'transfer.returned'], async (event) => {
      received.push(event)
    })
    /** What the service says of its first transfer, which asked for 12.50 USD. */
    const said = (value: string, more: Partial<Transfer> = {}): Observation => {
      const { remoteId, transfer } = gateway.observe('remote-1')
      if (transfer === undefined) throw new Error('The service says nothing of it.')
      const changed: Transfer = { ...transfer, status: 'complete', amount: usd(value), ...more }
      const returns = more.returns === undefined ? {} : { returns: more.returns }
      return { remoteId, status: changed.status, failure: null, transfer: changed, ...returns }
    }
    const observe = (...seen: readonly Observation[]) => commit((tx) => engine.transfers.observe(tx, 'acme', seen))
    const submit = async () => {
      await engine.start()
      const { id } = await enqueue(engine)
      await reach(engine, id, { stage: 'submitted' })
      return id
    }
    const errors = () => logger.entries.filter(({ level }) => level === 'error')
    return { gateway, engine, received, said, observe, submit, errors }
  }
  const paidOf = async (id: string) =>
    (await rows('select paid_amount from outlay.transfers where id = $1', [id]))[0]?.paid_amount

  it('is in the event, the transfer, the views and the doctor’s facts, by a host’s own observation', async () => {
    const { engine, observe, said, submit, received, errors } = make()
    const id = await submit()
    expect(await observe(said('6.00'))).toBe(1)
    await waitUntil(() => received.length === 1)
    expect(received[0]).toMatchObject({
      type: 'transfer.completed',
      transfer: { id, request: { amount: usd('12.50') }, paidAmount: usd('6.00') },
    })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete', paidAmount: usd('6.00') })
    const found = await engine.transfers.find({ accountId: 'acme' })
    expect(found.transfers.map(({ paidAmount }) => paidAmount)).toEqual([usd('6.00')])
    expect((await inspection.transfers())[0]).toMatchObject({ amount: '12.50', paidAmount: '6.00' })
    expect(await inspection.totals()).toEqual([{ currency: 'USD', status: 'complete', count: 1, amount: '6.00' }])
    expect((await inspection.health()).transfers.paidOtherwise).toMatchObject({ count: 1, samples: [id] })
    expect(errors()).toHaveLength(1)
    expect(errors()[0]).toMatchObject({ fields: { transferId: id } })
    // It is no news a second time.
    expect(await observe(said('6'), said('6.0'))).toBe(0)
    expect(errors()).toHaveLength(1)
    await pool.query(`update outlay.transfer set paid = paid || '{"seenAt": "2020-01-01T00:00:00.000000Z"}'`)
    expect((await inspection.health()).transfers.paidOtherwise.count).toBe(0)
  })

  it('is found by a webhook', async () => {
    const { engine, said, submit } = make()
    const id = await submit()
    const body = JSON.stringify(said('6.00'))
    expect(await engine.webhook({ body, headers: {} }, { accountId: 'acme' })).toMatchObject({ changed: 1 })
    expect(await paidOf(id)).toBe('6.00')
  })

  it('is found by a poll', async () => {
    const { gateway, said, submit } = make()
    const id = await submit()
    gateway.get = async () => said('7.00')
    await pool.query('update outlay.transfer set next_poll_at = now() where next_poll_at is not null')
    await waitUntil(async () => (await paidOf(id)) === '7.00')
  })

  it('is found by a page of the list', async () => {
    const gateway = listedGateway()
    const { list } = gateway
    let isPaid = false
    gateway.list = async (accountId, options) => {
      const page = await list?.(accountId, options)
      const observations = (page?.observations ?? []).flatMap(({ transfer, ...seen }) =>
        transfer === undefined || !isPaid
          ? [seen]
          : [{ ...seen, status: 'complete' as const, transfer: { ...transfer, amount: usd('7.00') } }],
      )
      return { observations, next: page?.next }
    }
    const { engine } = make(gateway)
    await engine.start()
    await enqueueMany(engine, 40)
    await waitUntil(async () => (await engine.backlog()).submitted === 40)
    isPaid = true
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await waitUntil(async () => (await engine.backlog()).settled === 40)
    expect(gateway.requests.get).toBe(0)
    expect(await rows('select paid_amount, count(*)::integer from outlay.transfers group by 1')).toEqual([
      { paid_amount: '7.00', count: 40 },
    ])
  })

  it('is found by the answer of a submission that is complete at once', async () => {
    const { engine, gateway, said, received, errors } = make()
    gateway.answer = async (_submission, moment) =>
      moment === 'before'
        ? undefined
        : { outcome: 'accepted', remoteId: 'remote-1', observation: said('6.00', { returns: [back('6')] }) }
    await engine.start()
    const { id } = await enqueue(engine)
    await waitUntil(() => received.length === 2)
    expect(received[0]?.transfer).toMatchObject({ id, paidAmount: usd('6.00') })
    expect(received[1]?.returned?.amount).toEqual(usd('6'))
    expect(errors()).toHaveLength(1)
  })

  it('is the most that comes back of less than was asked for, in parts', async () => {
    const { observe, said, submit, received } = make()
    const id = await submit()
    // With the completion in one observation.
    await observe(said('6.00', { returns: [back('4')] }))
    await waitUntil(() => received.length === 2)
    await observe(said('6.00', { returns: [back('4'), back('2', 'R01')] }))
    await waitUntil(() => received.length === 3)
    expect(received.map(({ returned }) => returned?.amount.value)).toEqual([undefined, '4', '2'])
    expect(received[2]?.transfer).toMatchObject({ id, paidAmount: usd('6.00') })
  })

  it('holds a return of more than was asked for, and a person decides about what was paid', async () => {
    const { engine, observe, said, submit, received } = make()
    const id = await submit()
    await observe(said('20.00', { returns: [back('20')] }))
    const [held] = (await inspection.evidence(id))?.returns ?? []
    expect(held).toMatchObject({ problem: 'exceeds_transfer' })
    const decision = { identity: held?.identity ?? '', amount: '20', actor: 'ann' }
    await commit((tx) => engine.transfers.resolveReturn(tx, id, decision))
    await waitUntil(() => received.length === 2)
    expect(received[1]?.returned?.amount).toEqual(usd('20'))
  })

  it('holds a return of what was asked for where less was paid, and a person may decide up to what was paid', async () => {
    const { engine, observe, said, submit } = make()
    const id = await submit()
    await observe(said('6.00', { returns: [back('12.50')] }))
    const [held] = (await inspection.evidence(id))?.returns ?? []
    expect(held).toMatchObject({ problem: 'exceeds_transfer' })
    const decide = (amount: string) =>
      commit((tx) => engine.transfers.resolveReturn(tx, id, { identity: held?.identity ?? '', amount, actor: 'ann' }))
    await expect(decide('12.50')).rejects.toThrow('more than the 6.00 USD')
    await decide('6')
    expect((await inspection.evidence(id))?.returns).toMatchObject([{ problem: null, amount: '6' }])
  })

  it('is corrected by a later report after the end, not by an older one, and never goes back unseen', async () => {
    const { engine, observe, said, submit, errors, received } = make()
    const id = await submit()
    await observe(said('12.5', { updatedAt: '2026-01-09T09:00:00.000Z' }))
    expect(await engine.transfers.get(id)).not.toHaveProperty('paidAmount')
    expect(errors()).toEqual([])
    expect(await observe(said('6', { updatedAt: '2026-01-09T10:00:00.000Z' }))).toBe(1)
    expect(await observe(said('7', { updatedAt: '2026-01-09T09:30:00.000Z' }))).toBe(0)
    expect(await paidOf(id)).toBe('6')
    expect(await observe(said('12.50', { updatedAt: '2026-01-09T11:00:00.000Z' }))).toBe(1)
    expect(await engine.transfers.get(id)).toMatchObject({ paidAmount: usd('12.50') })
    expect(errors()).toHaveLength(2)
    await waitUntil(() => received.length === 1)
    expect(await rows(`select type from outlay.event where type = 'transfer.completed'`)).toHaveLength(1)
  })

  it('is written once by eight at the same moment, and not where the host rolls back', async () => {
    const { observe, said, submit, engine } = make()
    const id = await submit()
    const rolledBack = driver.transaction(async (tx) => {
      await engine.transfers.observe(tx, 'acme', [said('6')])
      throw new Error('The host changed its mind.')
    })
    await expect(rolledBack).rejects.toThrow('changed its mind')
    expect(await paidOf(id)).toBeNull()
    const changed = await Promise.all(Array.from({ length: 8 }, () => observe(said('6'))))
    expect(changed.filter((count) => count > 0)).toEqual([1])
    expect(await paidOf(id)).toBe('6')
  })

  it.each([
    ['another currency', { amount: { value: '6', currency: 'EUR' } }],
    ['an amount that cannot be read', { amount: usd('a lot') }],
    ['a status before the end', { status: 'processing' as const }],
  ])('is not known from %s', async (_what, more) => {
    const { engine, observe, said, submit, errors } = make()
    const id = await submit()
    await observe(said('6', more))
    expect(await engine.transfers.get(id)).not.toHaveProperty('paidAmount')
    expect(errors()).toEqual([])
  })
})
