import type { Observation, Transfer, TransferReturn } from '@outlay/core'
import { recordingLogger } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { inspect } from '../inspection/inspection.ts'

const usd = (value: string) => ({ value, currency: 'USD' })
const at = (hour: number) => `2026-01-09T${String(hour).padStart(2, '0')}:00:00.000Z`
const back = (value: string): TransferReturn => ({ code: 'R10', amount: usd(value), occurredAt: at(9) })

describe('reports of what was paid of 12.50', async () => {
  const { driver, open, enqueue, commit, rows } = await testHost()
  const inspection = inspect({ driver })

  async function submit() {
    const gateway = listedGateway()
    const logger = recordingLogger()
    const engine = open({ gateway, logger })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    const said = (value: string, hour: number, more: Partial<Transfer> = {}): Observation => {
      const { remoteId, transfer } = gateway.observe('remote-1')
      if (transfer === undefined) throw new Error('The service says nothing of it.')
      const changed: Transfer = { ...transfer, status: 'complete', amount: usd(value), updatedAt: at(hour), ...more }
      const returns = more.returns === undefined ? {} : { returns: more.returns }
      return { remoteId, status: 'complete', failure: null, transfer: changed, ...returns }
    }
    return {
      ...{ engine, id, said },
      observe: (...seen: readonly Observation[]) => commit((tx) => engine.transfers.observe(tx, 'acme', seen)),
      paid: async () => (await rows('select paid_amount from outlay.transfers where id = $1', [id]))[0]?.paid_amount,
      logged: (level: string) => logger.entries.filter((one) => one.level === level),
    }
  }

  it.each([
    {
      what: 'the completion',
      reports: [
        ['12.50', 11],
        ['6', 10],
      ],
      paid: null,
    },
    {
      what: 'the same amount again',
      reports: [
        ['12.50', 10],
        ['12.5', 12],
        ['6', 11],
      ],
      paid: null,
    },
    {
      what: 'another amount again',
      reports: [
        ['6', 10],
        ['6.0', 12],
        ['7', 11],
      ],
      paid: '6',
    },
    {
      what: 'a correction',
      reports: [
        ['6', 10],
        ['12.50', 12],
        ['7', 11],
      ],
      paid: '12.50',
    },
  ] as const)('that are older than $what say nothing', async ({ reports, paid }) => {
    const transfer = await submit()
    for (const [value, hour] of reports) await transfer.observe(transfer.said(value, hour))
    expect(await transfer.paid()).toBe(paid)
    // The newest one counts in whatever order they come.
    await transfer.observe(transfer.said('8', 13))
    expect(await transfer.paid()).toBe('8')
  })

  it('count from the later of two times, when one says that it was complete before it was changed', async () => {
    const transfer = await submit()
    await transfer.observe({ ...transfer.said('12.50', 12), reachedAt: at(9) })
    await transfer.observe({ ...transfer.said('6', 11), reachedAt: at(9) })
    expect(await transfer.paid()).toBeNull()
  })

  it('are not old when the clock that says when it was complete is ahead of that of its changes', async () => {
    const other = await submit()
    await other.observe({ remoteId: 'remote-1', status: 'complete', failure: null, reachedAt: at(13) })
    await other.observe({ ...other.said('6', 12), reachedAt: at(13) })
    expect(await other.paid()).toBe('6')
  })

  it('write nothing where they say the same again at the same time', async () => {
    const transfer = await submit()
    const version = async () =>
      (await rows('select xmin::text, paid from outlay.transfer where id = $1', [transfer.id]))[0]
    await transfer.observe(transfer.said('12.50', 10))
    const before = await version()
    expect(before).toMatchObject({ paid: null })
    await transfer.observe(transfer.said('12.50', 10))
    await transfer.observe(transfer.said('12.5', 9))
    expect(await version()).toEqual(before)
    await transfer.observe(transfer.said('12.50', 11))
    expect(await version()).toMatchObject({ paid: { changedAt: '2026-01-09T11:00:00.000000Z' } })
    expect(await transfer.engine.transfers.get(transfer.id)).not.toHaveProperty('paidAmount')
    expect((await inspection.health()).transfers.paidOtherwise.count).toBe(0)
    const { xmin } = await version()
    await transfer.observe(transfer.said('12.50', 11))
    expect(await version()).toMatchObject({ xmin })
  })

  it('raise nothing that comes back without a person: a gateway that counts cents', async () => {
    const { engine, id, observe, said } = await submit()
    await observe(said('1250', 10, { returns: [back('1250')] }))
    const [held] = (await inspection.evidence(id))?.returns ?? []
    expect(held).toMatchObject({ problem: 'exceeds_transfer' })
    expect(await rows(`select from outlay.event where type = 'transfer.returned'`)).toEqual([])
    const decide = (amount: string) =>
      commit((tx) => engine.transfers.resolveReturn(tx, id, { identity: held?.identity ?? '', amount, actor: 'ann' }))
    await expect(decide('1250.01')).rejects.toThrow('more than the 1250 USD')
    await decide('1250')
    expect((await inspection.evidence(id))?.returns).toMatchObject([{ problem: null, amount: '1250' }])
  })

  it('that are less than what came back are found by the doctor', async () => {
    const { id, observe, said } = await submit()
    await observe(said('12.50', 10, { returns: [back('12.50')] }))
    const beyond = async () => (await inspection.health()).transfers.returnedBeyond
    expect(await beyond()).toMatchObject({ count: 0 })
    await observe(said('6', 11, { returns: [back('12.50')] }))
    expect(await beyond()).toMatchObject({ count: 1, samples: [id] })
  })

  it.each([
    ['other_currency', { value: '6', currency: 'usd' }],
    ['unreadable', usd('00.6')],
    ['unreadable', usd('+6')],
    ['unreadable', usd('6e0')],
  ])('of which nobody can say what they are worth have one warning: %s, %j', async (why, amount) => {
    const { id, observe, said, paid, logged } = await submit()
    await observe(said('12.50', 10, { amount }))
    await observe(said('12.50', 11, { amount }))
    expect(await paid()).toBeNull()
    expect(logged('warn')).toMatchObject([{ fields: { transferId: id, why } }])
  })
})
