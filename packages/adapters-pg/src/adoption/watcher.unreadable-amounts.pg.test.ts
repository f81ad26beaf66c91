import type { Observation, TransferReturn } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { createCountStore } from '../counts/counts.ts'
import { inspect } from '../inspection/inspection.ts'
import { resolveNames } from '../schema/database-names.ts'

const minuteMs = 60_000
const back: TransferReturn = {
  code: 'R10',
  amount: { value: '5', currency: 'USD' },
  occurredAt: '2026-01-09T09:00:00.000Z',
}

describe('a transfer of others with an amount that is none', async () => {
  const { driver, open, commit, enqueue, rows } = await testHost()
  const inspection = inspect({ driver })
  const unadopted = async () => (await inspection.health()).unadopted

  it.each(['1,234.50', '', '$5', '1e400000', 'NaN'])('stays found with its problem: %j', async (value) => {
    const gateway = listedGateway()
    const logger = recordingLogger()
    const engine = open({ gateway, logger, polling: { maxDelayMs: 50 } })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - minuteMs) }))
    const odd = gateway.add({ amount: { value, currency: 'USD' }, status: 'complete' })
    const plain = gateway.add({ status: 'complete' })
    await engine.start()
    await waitUntil(async () => (await rows('select from outlay.transfer where remote_id = $1', [plain.id])).length > 0)
    expect(await unadopted()).toMatchObject({ count: 1, samples: [odd.id], problem: /^Its amount cannot be read/ })
    const read = gateway.requests.list
    await waitUntil(() => gateway.requests.list >= read + 2)
    // Other readings say nothing new of it.
    expect(logger.entries.filter(({ fields }) => fields['remoteId'] === odd.id)).toMatchObject([{ level: 'warn' }])
    expect(await rows('select from outlay.transfer where remote_id = $1', [odd.id])).toEqual([])
    // It is adopted when the service says what it is.
    const { transfer } = gateway.observe(odd.id)
    if (transfer === undefined) throw new Error('There is no transfer.')
    const seen: Observation = {
      ...{ remoteId: odd.id, status: 'complete', failure: null },
      transfer: { ...transfer, amount: { value: '5', currency: 'USD' } },
    }
    gateway.hidden.add(odd.id)
    await commit((tx) => engine.transfers.observe(tx, 'acme', [seen]))
    await waitUntil(async () => (await rows('select from outlay.transfer where remote_id = $1', [odd.id])).length > 0)
    expect((await unadopted()).count).toBe(0)
  })

  it('and is changed before it is adopted has what the service said last, in whatever order that comes', async () => {
    const gateway = listedGateway()
    const engine = open({ gateway })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - minuteMs) }))
    const odd = gateway.add({ status: 'complete' })
    const { transfer } = gateway.observe(odd.id)
    if (transfer === undefined) throw new Error('There is no transfer.')
    const said = (value: string, updatedAt: string): Observation => ({
      ...{ remoteId: odd.id, status: 'complete', failure: null },
      transfer: { ...transfer, amount: { value, currency: 'USD' }, updatedAt },
    })
    gateway.hidden.add(odd.id)
    for (const seen of [
      said('60', '2026-01-09T10:00:00Z'),
      said('100', '2026-01-09T12:00:00Z'),
      said('80', '2026-01-09T11:00:00Z'),
    ])
      await commit((tx) => engine.transfers.observe(tx, 'acme', [seen]))
    await engine.start()
    const adopted = () =>
      rows(`select request #>> '{amount,value}' as value from outlay.transfer where remote_id = $1`, [odd.id])
    await waitUntil(async () => (await adopted()).length > 0)
    expect(await adopted()).toEqual([{ value: '100' }])
  })

  it('that an earlier release adopted stops neither counts nor totals, lists nor observations of others', async () => {
    const gateway = listedGateway()
    const engine = open({ gateway })
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - minuteMs) }))
    const odd = gateway.add({ amount: { value: '250', currency: 'USD' }, status: 'complete' })
    await engine.start()
    const [adopted] = await waitUntil(async () => {
      const found = await rows('select id from outlay.transfer where remote_id = $1', [odd.id])
      return found.length > 0 ? found : undefined
    })
    await rows(
      `update outlay.transfer set request = jsonb_set(request, '{amount,value}', '"1,234.50"') where id = $1`,
      [adopted.id],
    )
    const mine = await enqueue(engine)
    await reach(engine, mine.id, { stage: 'submitted' })
    const said = (remoteId: string, more: object): Observation => {
      const { transfer } = gateway.observe(remoteId)
      if (transfer === undefined) throw new Error('There is no transfer.')
      return { remoteId, status: 'complete', failure: null, transfer: { ...transfer, status: 'complete', ...more } }
    }
    const unreadable = { amount: { value: '1,234.50', currency: 'USD' } }
    const seen = [{ ...said(odd.id, unreadable), returns: [back] }, said('remote-2', {})]
    expect(await commit((tx) => engine.transfers.observe(tx, 'acme', seen))).toBe(2)
    // Nothing comes back by itself of what nobody can read; a person knows how much it was.
    const [held] = (await inspection.evidence(adopted.id))?.returns ?? []
    expect(held).toMatchObject({ problem: 'exceeds_transfer' })
    await engine.stop()

    const { value } = (await engine.transfers.get(mine.id))?.request.amount ?? { value: '' }
    expect(await inspection.totals()).toEqual([{ currency: 'USD', status: 'complete', count: 2, amount: value }])
    expect((await inspection.transfers({ amount: value })).map(({ id }) => id)).toEqual([mine.id])
    const counts = createCountStore(driver, resolveNames({}).tokens)
    const countedTo = async () =>
      (
        await rows('select counted_to::text as at, count(*) over ()::integer as n from outlay.transfer_count_progress')
      )[0]
    await counts.count(new Date().toISOString())
    const before = await countedTo()
    for (let turn = 0; turn < 40; turn += 1)
      await counts.count(new Date(Date.now() + 20 * minuteMs + turn * 16_000).toISOString())
    expect(await countedTo()).not.toEqual(before)

    const decide = { identity: held?.identity ?? '', amount: '5', actor: 'ann' }
    await commit((tx) => engine.transfers.resolveReturn(tx, adopted.id, decide))
    expect((await inspection.evidence(adopted.id))?.returns).toMatchObject([{ problem: null, amount: '5' }])
    // The service says it again so that it can be read.
    const readable = said(odd.id, { amount: { value: '1234.50', currency: 'USD' } })
    expect(await commit((tx) => engine.transfers.observe(tx, 'acme', [readable]))).toBe(1)
    expect(await engine.transfers.get(adopted.id)).toMatchObject({ paidAmount: { value: '1234.50', currency: 'USD' } })
  })
})
