import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { testCancellations } from '../../test/cancellations.ts'
import { sanctions, testPayments } from '../../test/payments.ts'
import { at, back, reportedTransfers } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { Rails } from '../rails/port.ts'
import { cancelTransfer } from './cancellation.ts'

// A failure that is retriable is no end. Where its rail never tries again, its client may end the transfer.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: ReturnType<typeof testCancellations>
let reported: Awaited<ReturnType<typeof reportedTransfers>>
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }])
  transfers = testCancellations(api)
  reported = await reportedTransfers(api)
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, {
    body: { url: 'http://127.0.0.1:9/', event_types: ['*'] },
  })
})
afterAll(() => api.stop())

const retriable = { ...back(2, { type: 'rejected', retriable: true }) }
const notCancelable = { code: 'transfer_not_cancelable' }
const cancelWith = (id: string, cancel: Rails['cancel']) => {
  const { context } = api.sandbox.service
  return cancelTransfer({ ...context, rails: { ...context.rails, cancel } }, {}, api.accountId, id)
}
const canceled = async () => ({ outcome: 'canceled' }) as const

it('a payout that its rail does not try again gives back what it holds, once the rail says that it is canceled', async () => {
  const before = await transfers.balance()
  const payout = await reported.begin('payout')
  await payout.say('rejected', '100', retriable)
  await payout.reaches('failed')
  expect((await transfers.balance()).available).toBe(before.available - 100)
  await expect(cancelWith(payout.id, async () => ({ outcome: 'refused' }))).rejects.toMatchObject(notCancelable)
  expect((await transfers.balance()).available).toBe(before.available - 100)
  expect(await cancelWith(payout.id, canceled)).toMatchObject({ status: 'canceled', failure: null })
  expect(await cancelWith(payout.id, canceled)).toMatchObject({ status: 'canceled' })
  expect(await transfers.balance()).toEqual(before)
  await transfers.settles(payout.id)
  expect(await transfers.entries(payout.id)).toEqual(['hold', 'void'])
  const events = ['created', 'processing', 'failed', 'canceled'].map((name) => `transfer.${name}`)
  expect(await transfers.events(payout.id)).toEqual(events)
  await payout.say('accepted', '100', at(3))
  expect(await payout.open()).toEqual(['accepted 100 status_contradicted'])
  await expectSoundLedger(api.sandbox.service.context)
})

it('a payout that its rail tries again meanwhile, or has settled, is not canceled', async () => {
  const before = await transfers.balance()
  const payout = await reported.begin('payout')
  await payout.say('rejected', '100', retriable)
  await payout.reaches('failed')
  const canceling = cancelWith(payout.id, async () => {
    await payout.say('accepted', '100', at(3))
    await payout.reaches('processing')
    return { outcome: 'canceled' }
  })
  await expect(canceling).rejects.toMatchObject(notCancelable)
  await payout.say('rejected', '100', back(4, { type: 'rejected', retriable: true }))
  await payout.reaches('failed')
  await payout.say('settled', '60', at(5))
  await expect(cancelWith(payout.id, canceled)).rejects.toMatchObject(notCancelable)
  expect((await transfers.balance()).available).toBe(before.available - 100)
})

it('a wire that had arrived is in the settlement account, and a person decides', async () => {
  const wire = await reported.begin('wire')
  await wire.say('accepted', '100')
  await wire.reaches('processing')
  await wire.say('rejected', '100', retriable)
  await wire.reaches('failed')
  await cancelWith(wire.id, canceled)
  expect(await wire.open()).toEqual(['accepted 100 status_contradicted'])
  await expectSoundLedger(api.sandbox.service.context)
})

it('a failure for good is no longer canceled, nor the mint of a deposit that is tried again', async () => {
  const payout = await reported.begin('payout')
  await payout.say('rejected', '100', back(2, { type: 'rejected' }))
  await payout.reaches('failed')
  await expect(cancelWith(payout.id, canceled)).rejects.toMatchObject(notCancelable)

  const automations = testAutomations(api)
  const deposit = await automations.wire(await automations.open(), { amount: { value: '6660.04', currency: 'USD' } })
  const mint = await transfers.reaches(deposit.body.transfer_id ?? '', 'processing')
  const payments = testPayments(api)
  await payments.poll(mint.id, { state: 'rejected', failure: { ...sanctions, retriable: true } })
  await payments.reaches(mint.id, 'failed')
  await expect(cancelWith(mint.id, canceled)).rejects.toMatchObject(notCancelable)
})

it('a debit that bounced is presented no more after its client has canceled it', async () => {
  const before = await transfers.balance()
  const debit = await reported.begin('debit')
  await api.call('POST', `/simulations/transfers/${debit.id}/return`, { body: { code: 'R01' } })
  await debit.reaches('failed')
  const answer = await transfers.cancel(debit.id)
  expect([answer.status, answer.body.status]).toEqual([200, 'canceled'])
  expect(await transfers.railStateOf(debit.id)).toBe('canceled')
  await api.call('POST', '/simulations/clock/advance', { body: { seconds: 20 * 86_400 } })
  await transfers.settles(debit.id)
  expect([await debit.status(), await transfers.balance()]).toEqual(['canceled', before])
})

it.each([undefined, null, {}, 'canceled'])('a rail that answers %j has not canceled', async (answer) => {
  const wire = await reported.begin('wire')
  await expect(cancelWith(wire.id, async () => answer as never)).rejects.toMatchObject({
    code: answer == null ? 'service_unavailable' : 'transfer_not_cancelable',
  })
  expect(await wire.status()).toBe('pending')
})
