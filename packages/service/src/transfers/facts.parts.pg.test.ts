import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at, back, drawn, moved, paid, refused, reportedTransfers } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'

// What a part of a payment leaves over, and what came back of it, may be the same money.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  transfers = await reportedTransfers(api)
})
beforeEach(() => transfers.mark())
afterAll(() => api.stop())

describe.each(['payout', 'debit'] as const)('a %s of which a part came back before the other one settled', (flow) => {
  it('has it back once, unless a person says that it came back of the other one', async () => {
    const one = await transfers.begin(flow)
    await one.say('returned', '40', back(3))
    await one.say('settled', '60', at(4))
    await one.decide(1, 'apply')
    await one.reaches('complete')
    expect(await one.change()).toEqual(moved(flow, 60))
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('possible_repeat'))
    expect(await one.change()).toEqual(moved(flow, 60))
    await one.decide(0, 'apply', { accepts: ['amount_mismatch', 'possible_repeat'] })
    expect([await one.open(), await one.change()]).toEqual([[], moved(flow, 20)])
  })

  it('has it back once, where a poll had completed it and the return was booked', async () => {
    const one = await transfers.begin(flow)
    const mark = flow === 'payout' ? paid(`A${one.id}`) : drawn(`A${one.id}`)
    await one.say('accepted', '100', mark)
    await one.completeByPoll()
    await one.say('returned', '40', back(3), mark)
    expect(await one.change()).toEqual(moved(flow, 60))
    await one.say('settled', '60', at(2), mark)
    expect(await one.open()).toEqual(['settled 60 amount_mismatch'])
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('possible_repeat'))
    expect(await one.change()).toEqual(moved(flow, 60))
    await one.decide(0, 'apply', { accepts: ['amount_mismatch', 'possible_repeat'] })
    expect([await one.open(), await one.change()]).toEqual([[], moved(flow, 20)])
  })

  it('has it back once, where a poll completes it between', async () => {
    const one = await transfers.begin(flow)
    await one.say('returned', '40', back(3))
    await one.completeByPoll()
    await one.say('settled', '60', at(4))
    await one.decide(1, 'apply')
    expect(await one.change()).toEqual(moved(flow, 60))
    await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('possible_repeat'))
  })
})
