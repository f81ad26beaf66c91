import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { testCancellations } from '../../test/cancellations.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { applyDeposit } from '../automations/deposits.ts'
import { cancelTransfer } from './cancellation.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: ReturnType<typeof testCancellations>
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }])
  transfers = testCancellations(api)
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, {
    body: { url: 'http://127.0.0.1:9/', event_types: ['*'] },
  })
})
afterAll(() => api.stop())

const payout = async () => {
  const { body: payee } = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, {
    body: { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] },
  })
  const destination = { ...transfers.wallet, address_id: payee.id }
  const amount = { value: '5', currency: 'USDC' }
  return (await transfers.create({ amount, source: transfers.wallet, destination })).body.id
}

describe('a payout that was not sent to its rail', () => {
  it('is canceled with its hold, records that once, and is never sent', async () => {
    const { service } = api.sandbox
    const before = await transfers.balance()
    await service.stop()
    const id = await payout()
    expect((await transfers.balance()).available).toBe(before.available - 5)
    const canceled = await transfers.cancel(id)
    expect([canceled.status, canceled.body.status, canceled.body.failure]).toEqual([200, 'canceled', null])
    expect(canceled.body.updated_at >= canceled.body.created_at).toBe(true)
    expect(await transfers.balance()).toEqual(before)
    const again = await transfers.cancel(id)
    expect([again.status, again.body]).toEqual([200, canceled.body])

    const later = await payout()
    await service.start()
    await transfers.reaches(later, 'processing')
    await transfers.settles(id)
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 60 } })
    await transfers.reaches(later, 'complete')
    expect(await transfers.railStateOf(id)).toBeUndefined()
    expect(await transfers.entries(id)).toEqual(['hold', 'void'])
    expect(await transfers.events(id)).toEqual(['transfer.created', 'transfer.canceled'])
    expect(await transfers.read(id)).toEqual(canceled.body)
  })
})

describe('an inbound wire', () => {
  it('is canceled at its rail, and the money that comes afterwards is not credited', async () => {
    const before = await transfers.balance()
    const id = await transfers.expectWire()
    const canceled = await transfers.cancel(id)
    expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled'])
    expect(await transfers.railStateOf(id)).toBe('canceled')
    expect((await transfers.arrive(id)).status).toBe(409)
    await transfers.settles(id)
    expect(await transfers.events(id)).toEqual(['transfer.created', 'transfer.canceled'])
    expect(await transfers.balance()).toEqual(before)
  })

  it('of which only the rail knows that it is canceled is canceled by the next request', async () => {
    const id = await transfers.expectWire()
    const { signal } = new AbortController()
    const { rails } = api.sandbox.service.context
    expect(await rails.cancel(id, { signal })).toEqual({ outcome: 'canceled' })
    expect((await transfers.read(id)).status).toBe('pending')
    expect((await transfers.cancel(id)).body.status).toBe('canceled')
    await transfers.settles(id)
    expect(await transfers.events(id)).toEqual(['transfer.created', 'transfer.canceled'])
  })

  it('that comes before the rail is asked is credited, and the cancellation is refused', async () => {
    const id = await transfers.expectWire()
    const { context } = api.sandbox.service
    const { rails } = context
    const cancel: typeof rails.cancel = async (...given) => {
      expect((await transfers.arrive(id)).status).toBe(202)
      return await rails.cancel(...given)
    }
    const canceling = cancelTransfer({ ...context, rails: { ...rails, cancel } }, {}, api.accountId, id)
    await expect(canceling).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
    await transfers.reaches(id, 'processing')
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 60 } })
    await transfers.reaches(id, 'complete')
    expect(await transfers.entries(id)).toEqual(['post'])
  })

  it('that comes before the cancellation is written goes back', async () => {
    const id = await transfers.expectWire()
    const { context } = api.sandbox.service
    const { rails } = context
    const cancel: typeof rails.cancel = async (...given) => {
      const answer = await rails.cancel(...given)
      expect((await transfers.arrive(id)).status).toBe(409)
      return answer
    }
    const row = await cancelTransfer({ ...context, rails: { ...rails, cancel } }, {}, api.accountId, id)
    expect(row?.status).toBe('canceled')
    expect(await transfers.entries(id)).toEqual([])
  })

  it('that comes while it is canceled is either credited or canceled, whichever the rail decided', async () => {
    const before = await transfers.balance()
    const ids = await Promise.all(Array.from({ length: 16 }, () => transfers.expectWire()))
    const raced = await Promise.all(
      ids.map(async (id, at) => {
        const calls = [() => transfers.cancel(id), () => transfers.arrive(id)]
        const [first, second] = at % 2 === 0 ? calls : calls.toReversed()
        const answers = await Promise.all([first?.(), second?.()])
        const [cancel, wire] = at % 2 === 0 ? answers : answers.toReversed()
        return { id, statuses: [cancel?.status, wire?.status] }
      }),
    )
    let credited = 0
    for (const { id, statuses } of raced) {
      expect([
        [200, 409],
        [409, 202],
      ]).toContainEqual(statuses)
      if (statuses[0] === 200) expect((await transfers.read(id)).status).toBe('canceled')
      else credited += 9
    }
    for (const { id, statuses } of raced) if (statuses[1] === 202) await transfers.reaches(id, 'processing')
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 60 } })
    for (const { id, statuses } of raced) if (statuses[1] === 202) await transfers.reaches(id, 'complete')
    expect((await transfers.balance()).balance).toBe(before.balance + credited)
    await expectSoundLedger(api.sandbox.service.context)
  })
})

describe('a refusal to cancel', () => {
  it('names the status of a transfer whose money moves, which goes on', async () => {
    const id = await payout()
    await transfers.reaches(id, 'processing')
    const refused = await transfers.cancel(id)
    expect([refused.status, refused.body.code]).toEqual([409, 'transfer_not_cancelable'])
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 60 } })
    await transfers.reaches(id, 'complete')
    expect((await transfers.cancel(id)).status).toBe(409)
  })

  it('is the answer for a deposit of an automation, whose money has arrived', async () => {
    const automations = testAutomations(api)
    const automation = await automations.open()
    const { service } = api.sandbox
    await service.stop()
    const verdict = await applyDeposit(service.context, {
      reference: '20261101OUTL0000900099',
      transferType: 'wire',
      routingNumber: automation.source.funding_instructions?.routing_number ?? '',
      accountNumber: automations.accountNumberOf(automation),
      amount: { value: '4', currency: 'USD' },
      details: {},
    })
    const id = verdict.outcome === 'credited' ? verdict.transferId : 'none'
    const refused = await transfers.cancel(id)
    expect([refused.status, refused.body.code]).toEqual([409, 'transfer_not_cancelable'])
    expect((await transfers.read(id)).status).toBe('pending')
    await service.start()
    await transfers.reaches(id, 'processing')
  })

  it('is a 404 for a transfer that is unknown, malformed or of another account', async () => {
    const id = await transfers.expectWire()
    for (const one of ['0'.repeat(26), 'short']) expect((await transfers.cancel(one)).status).toBe(404)
    const foreign = await api.call('POST', `/accounts/${api.otherAccountId}/transfers/${id}/cancel`)
    expect(foreign.status).toBe(404)
    expect((await transfers.read(id)).status).toBe('pending')
  })
})
