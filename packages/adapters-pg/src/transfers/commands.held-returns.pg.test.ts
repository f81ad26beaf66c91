import type { Engine, Observation, ReturnResolution, TransferEvent, TransferReturn, TransferStatus } from '@outlay/core'
import { silentLogger, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
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

  /** A transfer of 12.50 USD, of which the service says that these came back. */
  async function make(returns: readonly TransferReturn[], status: TransferStatus = 'complete') {
    const gateway = listedGateway()
    const engine = open({ gateway, logger: silentLogger })
    const received: TransferEvent[] = []
    engine.subscribe('books', ['transfer.returned'], async (event) => {
      received.push(event)
    })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const report = (all: readonly TransferReturn[], now: TransferStatus = status) => {
      const observation: Observation = { remoteId: 'remote-1', status: now, failure: null, returns: all }
      return commit((tx) => engine.transfers.observe(tx, 'acme', [observation]))
    }
    await report(returns)
    return { id, engine, report, received }
  }
  const held = async (id: string) => {
    const { returns } = (await inspection.evidence(id)) ?? { returns: [] }
    return returns.filter(({ problem, resolvedAt }) => problem !== null && resolvedAt === null)
  }
  /** Decides about the first one that is held. */
  const decideFirst = async (engine: Pick<Engine<PoolClient>, 'transfers'>, id: string, more: object) => {
    const [first] = await held(id)
    const decision = { identity: first?.identity ?? 'none', ...more } as ReturnResolution
    await commit((tx) => engine.transfers.resolveReturn(tx, id, decision))
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
    await decideFirst(engine, id, { amount: '4.50', reason: 'the bank says', actor: 'ann' })
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

  it.each([
    ['the amount that a person gave', [back(null)], { amount: '4.50' }, [back('4.50')], 1],
    ['another amount than the person gave', [back('45')], { amount: '4.50' }, [back('5')], 1],
    ['what a person has dismissed, with an amount', [back(null)], { dismissed: true }, [back('12.50')], 0],
  ])('is held again where the service then shows %s', async (_, first, decision, second, events) => {
    const { id, engine, report, received } = await make(first)
    await decideFirst(engine, id, decision)
    await report(second)
    await report(second)
    expect((await held(id)).map(({ problem }) => problem)).toEqual(['decided_before'])
    expect(await inspection.stuck({ id })).toMatchObject([{ reason: 'return_decided_before' }])
    await decideFirst(engine, id, { dismissed: true })
    await report(second)
    expect(await held(id)).toEqual([])
    expect(await rows(`select 1 from outlay.event where type = 'transfer.returned'`)).toHaveLength(events)
    expect(received.length).toBeLessThanOrEqual(events)
  })

  it('is another one after all where the service shows the one that was decided about as well', async () => {
    const { id, engine, report, received } = await make([back(null)])
    await decideFirst(engine, id, { dismissed: true })
    await report([back('5', 'R01')])
    expect(await held(id)).toHaveLength(1)
    await report([back(null), back('5', 'R01')])
    await waitUntil(() => received.length === 1)
    expect(await held(id)).toEqual([])
  })

  it('is dismissed for good, also when the service shows it no more', async () => {
    const { id, engine, report, received } = await make([back('99')])
    const [one] = await held(id)
    const dismiss = () =>
      commit((tx) =>
        engine.transfers.resolveReturn(tx, id, {
          ...{ identity: one?.identity ?? '', dismissed: true, reason: 'a typo there' },
        }),
      )
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

  it('is gone when the service shows none any more', async () => {
    const { id, report } = await make([back('99')])
    await report([])
    expect(await held(id)).toEqual([])
    expect(await inspection.evidence(id)).toMatchObject({ returns: [] })
  })

  it.each([
    ['another amount', [back('4')], [back('5')], ['5']],
    ['less', [back('12.50')], [back('2.50')], ['2.50']],
    ['none', [back('12.50')], [], []],
  ])(
    'waits for the completion, and is replaced by what the service shows then: %s',
    async (_, first, then, expected) => {
      const { id, report } = await make(first, 'processing')
      expect(await held(id)).toEqual([])
      await report(then, 'complete')
      const events = await rows(`select returned from outlay.event where type = 'transfer.returned'`)
      expect(events.map(({ returned }) => returned.amount.value)).toEqual(expected)
      expect(await held(id)).toEqual([])
    },
  )

  it('goes with the id at the service, when that turns out to be the one of another payout', async () => {
    const { id } = await make([back('99')])
    await rows(`select outlay.release_remote_id($1, 'It is that of another one.', 'ann')`, [id])
    expect(await rows('select 1 from outlay.transfer_return')).toEqual([])
  })

  it('keeps its transfer out of the archive until somebody has decided', async () => {
    const { id, engine } = await make([back('99')])
    await rows('delete from outlay.return_window')
    expect(await engine.archive({ olderThanMs: 0 })).toMatchObject({ archived: 0 })
    await decideFirst(engine, id, { dismissed: true })
    await waitUntil(async () => (await engine.archive({ olderThanMs: 0 })).archived === 1)
  })

  it('is one decision when several decide at the same moment', async () => {
    const { id, engine, received } = await make([back(null)])
    const decide = () => refusal(() => decideFirst(engine, id, { amount: '12.50' }))
    const answers = await Promise.all(Array.from({ length: 8 }, decide))
    expect(answers.filter(({ code }) => code === undefined)).toHaveLength(1)
    await waitUntil(() => received.length === 1)
    expect(await rows(`select 1 from outlay.event where type = 'transfer.returned'`)).toHaveLength(1)
  })

  it('comes back when the transaction of the decision is rolled back', async () => {
    const { id, engine } = await make([back(null)])
    const [one] = await held(id)
    const decided = driver.transaction(async (tx) => {
      await engine.transfers.resolveReturn(tx, id, { identity: one?.identity ?? '', amount: '1' })
      throw new Error('The host changed its mind.')
    })
    await expect(decided).rejects.toThrow('changed its mind')
    expect(await held(id)).toHaveLength(1)
  })

  it('is one of several, and the others stay', async () => {
    const { id, engine } = await make([back(null), back('99')])
    expect(await refusal(() => decideFirst(engine, id, { identity: 'another one', dismissed: true }))).toEqual({
      ...{ code: 'conflict', field: undefined },
    })
    const [, second] = await held(id)
    await decideFirst(engine, id, { dismissed: true })
    expect(await held(id)).toEqual([second])
  })

  it('is not made more than the transfer', async () => {
    const { id, engine, report } = await make([back('2.50'), back(null, 'R01')])
    const give = (amount: string) => refusal(() => decideFirst(engine, id, { amount }))
    expect(await give('10.01')).toEqual({ code: 'conflict', field: 'amount' })
    expect(await give('10')).toEqual({ code: undefined, field: undefined })
    expect(await report([back('2.50'), back(null, 'R01')])).toBe(0)
  })

  it('is in the currency of the transfer, which has to be said where the service reported another one', async () => {
    const { id, engine } = await make([{ ...back('10'), amount: { value: '10', currency: 'MXN' } }])
    const give = (more: object) => refusal(() => decideFirst(engine, id, { amount: '10', ...more }))
    expect(await give({})).toEqual({ code: 'conflict', field: 'currency' })
    expect(await give({ currency: 'MXN' })).toEqual({ code: 'conflict', field: 'currency' })
    expect(await give({ currency: 'USD' })).toEqual({ code: undefined, field: undefined })
  })

  it('is no money of a transfer that is not complete', async () => {
    const { id, engine } = await make([back('12.50')], 'canceled')
    expect(await refusal(() => decideFirst(engine, id, { amount: '12.50' }))).toEqual({
      ...{ code: 'conflict', field: 'amount' },
    })
    await decideFirst(engine, id, { dismissed: true })
  })

  it.each([
    [{}, 'missing_field', 'amount'],
    [{ identity: undefined, amount: '1' }, 'missing_field', 'identity'],
    [{ amount: '1', dismissed: true }, 'invalid_request', 'dismissed'],
    [{ dismissed: false }, 'invalid_request', 'dismissed'],
    [{ dismissed: true, currency: 'USD' }, 'invalid_request', 'currency'],
    [{ amount: 1 }, 'invalid_amount', 'amount'],
    [{ amount: '1e3' }, 'invalid_amount', 'amount'],
    [{ amount: '-1' }, 'invalid_amount', 'amount'],
    [{ amount: '0.00' }, 'amount_not_positive', 'amount'],
    [{ amount: '1', identity: 7 }, 'invalid_request', 'identity'],
    [{ amount: '1', actor: ' ' }, 'invalid_request', 'actor'],
    [{ amount: '1', note: 'ticket 4711' }, 'invalid_request', 'note'],
  ])('is refused before any SQL: %j', async (resolution, code, field) => {
    const engine = open({ gateway: listedGateway() })
    const decision = { identity: 'r', ...resolution } as never
    const decide = () => engine.transfers.resolveReturn(undefined as never, '01J0000000000000000000000Z', decision)
    expect(await refusal(decide)).toEqual({ code, field })
  })

  it('is not one of a transfer that nobody knows', async () => {
    const engine = open({ gateway: listedGateway() })
    const decide = (id: string) => refusal(() => decideFirst(engine, id, { identity: 'r', dismissed: true }))
    expect(await decide('01J0000000000000000000000Z')).toMatchObject({ code: 'transfer_not_found' })
    expect(await decide('remote-1')).toMatchObject({ code: 'invalid_id', field: 'transferId' })
  })
})
