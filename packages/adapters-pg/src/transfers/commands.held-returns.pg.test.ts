import type { Observation, TransferEvent, TransferReturn } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { inspect } from '../inspection/inspection.ts'

const back = (value: string | null, code = 'R10'): TransferReturn => ({
  code,
  amount: value === null ? null : { value, currency: 'USD' },
  occurredAt: '2026-01-09T09:00:00.000Z',
})

describe('a return that is held', async () => {
  const { driver, open, enqueue, commit, rows } = await testHost()
  const inspection = inspect({ driver })

  /** A transfer of 12.50 USD that has ended, of which the service says that these came back. */
  async function make(returns: readonly TransferReturn[], status: 'complete' | 'canceled' = 'complete') {
    const gateway = listedGateway()
    const engine = open({ gateway, logger: silentLogger })
    const received: TransferEvent[] = []
    engine.subscribe('books', ['transfer.returned'], async (event) => {
      received.push(event)
    })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const report = (all: readonly TransferReturn[]) => {
      const observation: Observation = { remoteId: 'remote-1', status, failure: null, returns: all }
      return commit((tx) => engine.transfers.observe(tx, 'acme', [observation]))
    }
    await report(returns)
    return { id, engine, report, received }
  }
  const held = async (id: string) => {
    const { returns } = (await inspection.evidence(id)) ?? { returns: [] }
    return returns.filter(({ problem, resolvedAt }) => problem !== null && resolvedAt === null)
  }
  const refusal = async (run: () => Promise<void>) => {
    const error = await run().then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    const { code, field } = (error ?? {}) as { code?: string; field?: string }
    return { code, field }
  }

  it('is an event with the amount that a person gives, once, whatever the service repeats', async () => {
    const { id, engine, report, received } = await make([back(null)])
    expect(await held(id)).toHaveLength(1)
    expect((await inspection.health()).transfers.heldReturns).toMatchObject({ count: 1, samples: [id] })
    await commit((tx) =>
      engine.transfers.resolveReturn(tx, id, { amount: '4.50', reason: 'the bank says', actor: 'ann' }),
    )
    await waitUntil(() => received.length === 1)
    expect(received[0]?.returned).toMatchObject({ code: 'R10', amount: { value: '4.50', currency: 'USD' } })
    await report([back(null)])
    expect(await held(id)).toEqual([])
    expect((await inspection.health()).transfers.heldReturns.count).toBe(0)
    expect(await inspection.stuck({ id })).toEqual([])
    const timeline = await rows(`select what, detail from outlay.timeline_of($1) where what like 'return %'`, [id])
    expect(timeline).toEqual([
      { what: 'return corrected', detail: expect.stringContaining('by ann, the bank says, reported as') },
    ])
    // What comes back later counts with what the person said.
    await report([back(null), back('8', 'R01')])
    await waitUntil(() => received.length === 2)
    await report([back(null), back('8', 'R01'), back('0.01', 'R02')])
    expect((await held(id)).map(({ problem }) => problem)).toEqual(['exceeds_transfer'])
    const events = await rows(`select type from outlay.event where type = 'transfer.returned'`)
    expect(events).toHaveLength(2)
  })

  it('is dismissed for good, also when the service shows it no more', async () => {
    const { id, engine, report, received } = await make([back('99')])
    const dismiss = () =>
      commit((tx) => engine.transfers.resolveReturn(tx, id, { dismissed: true, reason: 'a typo there' }))
    await dismiss()
    expect(await refusal(dismiss)).toEqual({ code: 'conflict', field: undefined })
    expect(await inspection.stuck({ id })).toEqual([])
    await report([])
    await report([back('99')])
    expect(await held(id)).toEqual([])
    expect(await inspection.evidence(id)).toMatchObject({
      returns: [{ problem: 'exceeds_transfer', resolutionNote: 'a typo there', sequence: null }],
    })
    await report([back('99'), back('12.50', 'R01')])
    await waitUntil(() => received.length === 1)
  })

  it('is one decision when several decide at the same moment', async () => {
    const { id, engine, received } = await make([back(null)])
    const decide = () => refusal(() => commit((tx) => engine.transfers.resolveReturn(tx, id, { amount: '12.50' })))
    const answers = await Promise.all(Array.from({ length: 8 }, decide))
    expect(answers.filter(({ code }) => code === undefined)).toHaveLength(1)
    await waitUntil(() => received.length === 1)
    expect(await rows(`select 1 from outlay.event where type = 'transfer.returned'`)).toHaveLength(1)
  })

  it('comes back when the transaction of the decision is rolled back', async () => {
    const { id, engine } = await make([back(null)])
    const decided = driver.transaction(async (tx) => {
      await engine.transfers.resolveReturn(tx, id, { amount: '1' })
      throw new Error('The host changed its mind.')
    })
    await expect(decided).rejects.toThrow('changed its mind')
    expect(await held(id)).toHaveLength(1)
  })

  it('has to be named where there are several', async () => {
    const { id, engine } = await make([back(null), back('99')])
    const decide = (more: object) =>
      refusal(() => commit((tx) => engine.transfers.resolveReturn(tx, id, { dismissed: true, ...more })))
    expect(await decide({})).toEqual({ code: 'conflict', field: 'identity' })
    expect(await decide({ identity: 'another one' })).toEqual({ code: 'conflict', field: undefined })
    const [first, second] = await held(id)
    expect(await decide({ identity: first?.identity })).toEqual({ code: undefined, field: undefined })
    expect(await held(id)).toEqual([second])
    expect(await decide({})).toEqual({ code: undefined, field: undefined })
  })

  it('is not made more than the transfer', async () => {
    const { id, engine, report } = await make([back('2.50'), back(null, 'R01')])
    const give = (amount: string) => refusal(() => commit((tx) => engine.transfers.resolveReturn(tx, id, { amount })))
    expect(await give('10.01')).toEqual({ code: 'conflict', field: 'amount' })
    expect(await give('10')).toEqual({ code: undefined, field: undefined })
    expect(await report([back('2.50'), back(null, 'R01')])).toBe(0)
  })

  it('is no money of a transfer that is not complete', async () => {
    const { id, engine } = await make([back('12.50')], 'canceled')
    const resolve = (more: { amount: string } | { dismissed: true }) =>
      refusal(() => commit((tx) => engine.transfers.resolveReturn(tx, id, more)))
    expect(await resolve({ amount: '12.50' })).toEqual({ code: 'conflict', field: 'amount' })
    expect(await resolve({ dismissed: true })).toEqual({ code: undefined, field: undefined })
  })

  it.each([
    [{}, 'missing_field', 'amount'],
    [{ amount: '1', dismissed: true }, 'invalid_request', 'dismissed'],
    [{ dismissed: false }, 'invalid_request', 'dismissed'],
    [{ amount: 1 }, 'invalid_amount', 'amount'],
    [{ amount: '1e3' }, 'invalid_amount', 'amount'],
    [{ amount: '-1' }, 'invalid_amount', 'amount'],
    [{ amount: '0.00' }, 'amount_not_positive', 'amount'],
    [{ amount: '1', identity: 7 }, 'invalid_request', 'identity'],
    [{ amount: '1', actor: ' ' }, 'invalid_request', 'actor'],
  ])('is refused before any SQL: %j', async (resolution, code, field) => {
    const engine = open({ gateway: listedGateway() })
    const decide = () =>
      engine.transfers.resolveReturn(undefined as never, '01J0000000000000000000000Z', resolution as never)
    expect(await refusal(decide)).toEqual({ code, field })
  })

  it('is not one of a transfer that nobody knows', async () => {
    const engine = open({ gateway: listedGateway() })
    const decide = (id: string) =>
      refusal(() => commit((tx) => engine.transfers.resolveReturn(tx, id, { dismissed: true })))
    expect(await decide('01J0000000000000000000000Z')).toMatchObject({ code: 'transfer_not_found' })
    expect(await decide('remote-1')).toMatchObject({ code: 'invalid_id', field: 'transferId' })
  })
})
