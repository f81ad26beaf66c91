import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sanctions, testPayments } from '../../test/payments.ts'
import { at, back, drawn, moved, paid, refused, reportedTransfers, usd, words } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'

// Once the reports of a transfer may be about more than one payment, or a person had to decide about one, nothing further is applied by itself.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  const options = api.sandbox.service.context as { receivablePolicy?: string }
  options.receivablePolicy = 'allow'
  transfers = await reportedTransfers(api)
})
beforeEach(() => transfers.mark())
afterAll(() => api.stop())

describe.each(['payout', 'debit'] as const)('a return of a %s', (flow) => {
  const mark = flow === 'payout' ? paid : drawn

  it('that was tried again, and is repeated in other words behind the completion, is a question', async () => {
    const one = await transfers.begin(flow)
    await one.say('returned', '100', back(1, { code: 'R01', retriable: true }))
    await one.reaches('failed')
    await one.say('accepted', '100', at(2))
    await one.reaches('processing')
    await one.say('settled', '100', at(3))
    await one.reaches('complete')
    const named = { returnReference: 'R-1', ...words('in other words') }
    await one.say('returned', '100', back(1, { code: 'R01', retriable: true }), named)
    expect(await one.open()).toEqual(['returned 100 possible_repeat'])
    expect(await one.change()).toEqual(moved(flow, 100))
  })

  it('that says the same word for word is its repeat', async () => {
    const one = await transfers.begin(flow)
    await one.say('returned', '100', back(1, { code: 'R01', retriable: true }))
    await one.reaches('failed')
    await one.say('accepted', '100', at(2), mark(`again ${one.id}`))
    await one.say('settled', '100', at(3), mark(`again ${one.id}`))
    await one.reaches('complete')
    await one.say('returned', '100', back(1, { code: 'R01', retriable: true }))
    expect(await one.open()).toEqual([])
    expect(await one.change()).toEqual(moved(flow, 100))
  })

  it.each([
    ['with a retriable failure', true],
    ['with a final failure', false],
  ])('before the payment was made again, %s, is not that behind it', async (_, retriable) => {
    const one = await transfers.begin(flow)
    await one.say('settled', '100', at(1))
    await one.reaches('complete')
    await one.say('returned', '100', back(2, { code: 'R01', retriable }))
    await one.say('settled', '100', at(3))
    await one.decide(0, 'apply')
    await one.say('returned', '100', back(2, { code: 'R01', retriable }), words('in other words'), {
      source: { paymentDetails: { traceNumber: '123456789012345' } },
    })
    expect(await one.open()).toEqual(['returned 100 possible_repeat'])
    expect(await one.change()).toEqual(moved(flow, 100))
  })

  it.each([
    ['with its mark', (id: string) => mark(`A ${id}`), '100', 'returned 100 possible_repeat'],
    ['with its reference and another amount', () => ({ returnReference: 'R-9' }), '99', 'returned 99 reference_reused'],
  ] as const)('reported again %s behind a second settlement is a question', async (_, named, value, question) => {
    const one = await transfers.begin(flow)
    await one.say('settled', '100', at(1), mark(`A ${one.id}`))
    await one.reaches('complete')
    await one.say('returned', '100', back(2), named(one.id))
    await one.say('settled', '100', at(3), mark(`B ${one.id}`))
    await one.decide(0, 'apply')
    await one.say('returned', value, back(4), named(one.id))
    expect(await one.open()).toEqual([question])
    expect(await one.change()).toEqual(moved(flow, 100))
  })

  it('of a part before the settlement, repeated behind it, is booked once', async () => {
    const one = await transfers.begin(flow)
    await one.say('returned', '40', back(1))
    await one.say('settled', '100', at(2))
    await one.reaches('complete')
    await one.say('returned', '40', back(1), { returnReference: 'R-1' })
    expect(await one.open()).toEqual(['returned 40 amount_mismatch', 'returned 40 disputed'])
    await one.decide(0, 'apply')
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('possible_repeat'))
    expect(await one.change()).toEqual(moved(flow, 60))
  })

  it('is booked between two settlements that a person applies in turn', async () => {
    const one = await transfers.begin(flow)
    await one.say('settled', '100', at(1))
    await one.reaches('complete')
    await one.say('returned', '100', back(2), { returnReference: 'a' })
    await one.say('settled', '100', at(3))
    await one.say('settled', '100', at(5))
    await one.decide(0, 'apply')
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('books_nothing'))
    await one.say('returned', '100', back(4), { returnReference: 'b' })
    expect(await one.open()).toEqual(['settled 100 other_transaction', 'returned 100 other_transaction'])
    await one.decide(1, 'apply')
    expect(await one.change()).toEqual({})
    await one.decide(0, 'apply')
    expect(await one.change()).toEqual(moved(flow, 100))
  })
})

describe('a payout that its rail has sent twice', () => {
  const sentTwice = async () => {
    const one = await transfers.begin('payout')
    await one.say('accepted', '100', paid(`A ${one.id}`))
    await one.say('accepted', '100', paid(`B ${one.id}`))
    return one
  }

  it('does not fail with the second one', async () => {
    const one = await sentTwice()
    await one.say('rejected', '100', { failure: sanctions }, paid(`B ${one.id}`))
    expect(await one.open()).toEqual(['rejected 100 disputed'])
    await one.say('settled', '100', paid(`A ${one.id}`))
    await one.reaches('complete')
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('payout', 100))
  })

  it('keeps what was paid when the second one comes back', async () => {
    const one = await sentTwice()
    await one.say('settled', '100', paid(`A ${one.id}`))
    await one.reaches('complete')
    await one.say('returned', '100', back(3), paid(`B ${one.id}`))
    expect(await one.open()).toEqual(['returned 100 disputed'])
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('payout', 100))
  })

  it('fails where a poll says so only by a fact', async () => {
    const one = await sentTwice()
    const failure = { ...sanctions, type: 'returned' } as const
    expect(await testPayments(api).poll(one.id, { state: 'returned', failure, amount: usd('100') })).toBe('processing')
    expect(await testPayments(api).poll(one.id, { state: 'rejected', failure: sanctions })).toBe('processing')
  })

  it('and that was tried again with another mark fails by itself', async () => {
    const one = await transfers.begin('payout')
    await one.say('accepted', '100', paid(`A ${one.id}`))
    await one.say('rejected', '100', { failure: { ...sanctions, retriable: true } }, paid(`A ${one.id}`))
    await one.reaches('failed')
    await one.say('accepted', '100', paid(`B ${one.id}`), at(2))
    await one.say('returned', '100', back(3), paid(`B ${one.id}`))
    expect(await one.open()).toEqual([])
    await one.reaches('failed')
    expect(await one.change()).toEqual({})
  })
})
