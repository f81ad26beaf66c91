import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { sanctions } from '../../test/payments.ts'
import { back, drawn, imad, moved, refused, reportedTransfers, usdc, words } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'

// What arrives for a transfer more than once, in more than one currency, or in parts, is booked once, and what is not is open.

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

describe('two wires for one transfer', () => {
  it('of which the first is applied, keep the first when the second, of another kind of mark, goes back', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '90', drawn(`A ${one.id}`))
    await one.say('accepted', '90', imad(`B ${one.id}`))
    await one.decide(0, 'apply')
    await one.say('settled', '90', drawn(`A ${one.id}`))
    await one.reaches('complete')
    await one.say('returned', '90', back(4), imad(`B ${one.id}`))
    expect(await one.open()).toEqual(['accepted 90 amount_mismatch', 'returned 90 other_transaction'])
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('wire', 90))
  })

  it('of which the settlement of the first is applied, keep the first when the second goes back', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '90', drawn(`A ${one.id}`))
    await one.say('settled', '90', drawn(`A ${one.id}`))
    await one.say('accepted', '90', imad(`B ${one.id}`))
    await one.decide(1, 'apply')
    await one.reaches('complete')
    await one.say('returned', '90', back(4), imad(`B ${one.id}`))
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('wire', 90))
  })

  it('settle by a mark that neither has when a person says so', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '90', drawn(`A ${one.id}`))
    await one.say('accepted', '90', drawn(`B ${one.id}`))
    await one.decide(0, 'apply')
    await one.say('settled', '90', imad(`I ${one.id}`))
    expect(await one.open()).toEqual(['accepted 90 amount_mismatch', 'settled 90 disputed'])
    await one.decide(1, 'apply')
    await one.reaches('complete')
    await one.say('returned', '90', back(4), drawn(`B ${one.id}`))
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('wire', 90))
  })

  it('do not fail with the rejection of the second', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100', drawn(`A ${one.id}`))
    await one.reaches('processing')
    await one.say('accepted', '100', drawn(`B ${one.id}`))
    await one.say('rejected', '100', { failure: sanctions }, drawn(`B ${one.id}`))
    await one.say('settled', '100', drawn(`A ${one.id}`))
    await one.reaches('complete')
    expect(await one.open()).toEqual(['accepted 100 other_transaction', 'rejected 100 disputed'])
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('wire', 100))
  })

  it('that are both held leave one to be credited when the other goes back', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100.01', drawn(`A ${one.id}`))
    await one.say('accepted', '80', drawn(`B ${one.id}`))
    await one.say('returned', '80', back(3), drawn(`B ${one.id}`))
    expect(await one.change()).toEqual({ 'settlement USD': 180.01 })
    await one.decide(2, 'dismiss')
    await one.decide(1, 'dismiss')
    await one.decide(0, 'apply')
    await one.say('settled', '100.01', drawn(`A ${one.id}`))
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved('wire', 100.01))
  })

  it('of which the wrong one was dismissed and went back leave the right one to be credited', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '80', drawn(`B ${one.id}`))
    await one.decide(0, 'dismiss')
    await one.say('returned', '80', back(3), drawn(`B ${one.id}`))
    await one.decide(0, 'dismiss')
    await one.say('accepted', '100', drawn(`A ${one.id}`))
    expect(await one.open()).toEqual(['accepted 100 disputed'])
    expect(await one.change()).toEqual({ 'settlement USD': 100 })
    await one.decide(0, 'apply')
    await one.say('settled', '100', drawn(`A ${one.id}`))
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved('wire', 100))
  })

  it('that are reported as settled alone, behind the end, are both in the settlement account', async () => {
    const one = await transfers.begin('wire')
    const both = { source: { transactionId: `A ${one.id}`, paymentDetails: { imad: `IA ${one.id}` } } }
    await one.say('accepted', '100', both)
    await one.say('settled', '100', both)
    await one.reaches('complete')
    await one.say('settled', '100', drawn(`B ${one.id}`))
    await one.say('settled', '70', imad(`IC ${one.id}`))
    expect(await one.open()).toEqual(['settled 100 other_transaction', 'settled 70 other_transaction'])
    expect(await one.change()).toEqual(moved('wire', 100, 170))
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('wire', 100))
  })

  it('that go back alone are one: a held wire ends its transfer', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '90', drawn(`A ${one.id}`))
    await one.say('returned', '90', back(3), drawn(`A ${one.id}`))
    await one.reaches('failed')
    expect(await one.open()).toEqual(['accepted 90 amount_mismatch'])
    await one.dismissAll()
    expect(await one.change()).toEqual({})
  })
})

describe('a wire that was asked for in tokens', () => {
  it('arrives once, in whichever currency its bank says so, and goes back once', async () => {
    const one = await transfers.begin('wire in tokens')
    await one.say('accepted', '100', { amount: usdc('100') })
    await one.reaches('processing')
    await one.say('accepted', '100')
    await one.say('accepted', '100', { amount: usdc('100') }, words('in other words'))
    expect(await one.open()).toEqual([])
    await one.say('settled', '100', { amount: usdc('100') })
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved('wire', 100))
    await one.say('returned', '100', { amount: usdc('100') }, back(2))
    expect(await one.change()).toEqual({})
  })

  it('of another amount is held once and credited once', async () => {
    const one = await transfers.begin('wire in tokens')
    await one.say('accepted', '90', { amount: usdc('90') })
    await one.say('accepted', '90', words('in other words'))
    expect(await one.change()).toEqual({ 'settlement USD': 90 })
    await one.decide(1, 'apply')
    expect(await one.open()).toEqual([])
    await one.say('settled', '90', { amount: usdc('90') })
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved('wire', 90))
  })

  it.each(['accepted', 'settled'] as const)(
    'and is %s is in the settlement account in dollars when its transfer fails',
    async (kind) => {
      const one = await transfers.begin('wire in tokens')
      await one.say('accepted', '100', { amount: usdc('100') })
      await one.reaches('processing')
      const { context } = api.sandbox.service
      if (kind === 'accepted') await one.say('rejected', '100', { failure: sanctions })
      else {
        const reference = (await context.engine.transfers.get(one.id))?.remoteId ?? ''
        await inTransaction(context, async (tx) => {
          const failed = { remoteId: reference, status: 'failed', failure: sanctions } as const
          await context.engine.transfers.observe(tx, api.accountId, [failed])
        })
        await one.say('settled', '100', { amount: usdc('100') })
      }
      await one.reaches('failed')
      expect(await one.change()).toEqual({ 'settlement USD': 100 })
      await one.dismissAll()
      expect(await one.change()).toEqual({})
    },
  )
})

describe('a debit that arrives in parts', () => {
  it('is credited with one of them, which no other replaces', async () => {
    const one = await transfers.begin('debit')
    await one.say('accepted', '60', drawn(`A ${one.id}`))
    await one.say('accepted', '40', drawn(`B ${one.id}`))
    await one.decide(0, 'apply')
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('amount_mismatch'))
    await one.say('settled', '40', drawn(`B ${one.id}`))
    await one.say('settled', '60', drawn(`A ${one.id}`))
    await one.reaches('complete')
    await expect(one.decide(1, 'apply')).rejects.toMatchObject(refused('amount_mismatch'))
    expect(await one.open()).toEqual(['accepted 40 amount_mismatch', 'settled 40 amount_mismatch'])
    expect(await one.change()).toEqual(moved('debit', 60))
  })

  it('is credited with what its settlement says in the place of its acceptance', async () => {
    const one = await transfers.begin('debit')
    await one.say('accepted', '60')
    await one.decide(0, 'apply')
    await one.say('settled', '100')
    await one.decide(0, 'apply')
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved('debit', 100))
  })
})

describe.each([
  ['rejected', { failure: sanctions }, 'failed'],
  ['canceled', {}, 'canceled'],
] as const)('a deposit at a virtual account whose mint was %s', (kind, fields, end) => {
  const begin = async () => {
    const automations = testAutomations(api)
    const { body } = await automations.wire(await automations.open(), { amount: '50.00' })
    return transfers.about(await automations.transferReaches(body.transfer_id, 'processing'))
  }
  const ended = async () => {
    const one = await begin()
    await one.say(kind, '50', fields)
    await one.reaches(end)
    return one
  }

  it('goes back as it ends, or before that', async () => {
    const one = await begin()
    await one.say(kind, '50', fields)
    await one.say('returned', '50', back(2), { returnReference: 'whole' })
    await one.reaches(end)
    expect([await one.open(), await one.change()]).toEqual([[], {}])
  })

  it('goes back in parts that a person applies, and no further', async () => {
    const one = await ended()
    await one.say('returned', '30', back(2), { returnReference: 'p1' })
    await one.say('returned', '20', back(3), { returnReference: 'p2' })
    await one.say('returned', '10', back(4), { returnReference: 'p3' })
    expect(await one.change()).toEqual({ 'settlement USD': 50 })
    await one.decide(0, 'apply')
    expect(await one.change()).toEqual({ 'settlement USD': 20 })
    await one.decide(0, 'apply')
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('amount_mismatch'))
    await one.say('returned', '50', back(5), { returnReference: 'whole' })
    expect(await one.change()).toEqual({})
  })

  it('goes back as a whole, and in no part beside it', async () => {
    const one = await ended()
    await one.say('returned', '50', back(2), { returnReference: 'whole' })
    await one.say('returned', '30', back(3), { returnReference: 'p1' })
    expect(await one.open()).toEqual(['returned 30 amount_mismatch'])
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('amount_mismatch'))
    expect(await one.change()).toEqual({})
  })
})
