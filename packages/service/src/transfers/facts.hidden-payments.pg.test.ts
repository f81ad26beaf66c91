import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sanctions, testPayments } from '../../test/payments.ts'
import {
  at,
  back,
  drawn,
  type Fields,
  moved,
  observeComplete,
  paid,
  refused,
  reportedTransfers,
  usd,
  wired,
  words,
} from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { inTransaction } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import { isOfTransfer, type RailExceptionReason } from '../rail-facts/fact-kind.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

// A second payment, or another part of one, that is easy to overlook: named otherwise, behind a decision, by a poll, or behind a failure that is retried.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let transfers: Awaited<ReturnType<typeof reportedTransfers>>
let payments: ReturnType<typeof testPayments>
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  const options = api.sandbox.service.context as { receivablePolicy?: string }
  options.receivablePolicy = 'allow'
  transfers = await reportedTransfers(api)
  payments = testPayments(api)
})
beforeEach(() => transfers.mark())
afterAll(() => api.stop())

const rejected = { failure: sanctions }
const retried = (number: number) => back(number, { type: 'rejected', retriable: true })

describe('a payout that its rail names by IMADs', () => {
  it('and that was sent twice is open, and so is what comes back of the second', async () => {
    const one = await transfers.begin('payout')
    await one.say('settled', '100', wired(`M1${one.id}`))
    await one.reaches('complete')
    await one.say('settled', '100', wired(`M2${one.id}`))
    await one.say('returned', '100', back(3), wired(`M2${one.id}`))
    expect(await one.open()).toEqual(['settled 100 other_transaction', 'returned 100 other_transaction'])
    await one.dismissAll()
    expect(await one.change()).toEqual(moved('payout', 100))
  })

  it('of which two are under way does not fail with one', async () => {
    const one = await transfers.begin('payout')
    await one.say('accepted', '100', wired(`M1${one.id}`))
    await one.say('accepted', '100', wired(`M2${one.id}`))
    await one.say('rejected', '100', rejected, wired(`M2${one.id}`))
    expect(await one.open()).toEqual(['rejected 100 disputed'])
    expect(await one.poll({ state: 'rejected', failure: sanctions })).toBe('processing')
  })

  it('is named by no empty word', async () => {
    const one = await transfers.begin('payout')
    await one.say('settled', '100', wired(' '))
    await one.reaches('complete')
    await one.say('settled', '100', wired(`M1${one.id}`))
    await one.say('settled', '100', wired('N/A'))
    expect(await one.open()).toEqual([])
  })
})

describe.each(['payout', 'debit'] as const)('a part of a %s', (flow) => {
  it.each(['before', 'behind'])(
    'that was accepted %s its completion hides no settlement of the whole',
    async (when) => {
      const one = await transfers.begin(flow)
      if (when === 'behind') await one.completeByPoll()
      await one.say('settled', '60')
      await one.decide(0, 'apply')
      await one.reaches('complete')
      await one.say('settled', '100', at(3))
      expect(await one.open()).toEqual([when === 'behind' ? 'settled 100 disputed' : 'settled 100 amount_mismatch'])
      await one.say('settled', '40', at(4))
      expect((await one.open()).length).toBe(2)
      expect(await one.change()).toEqual(moved(flow, 60))
    },
  )

  it('that is held lets no settlement of the whole through that has its mark', async () => {
    const mark = flow === 'payout' ? paid : drawn
    const one = await transfers.begin(flow)
    await one.say('accepted', '100', mark(`A${one.id}`))
    await one.say('settled', '60', mark(`A${one.id}`))
    await one.say('settled', '100', mark(`A${one.id}`), at(3))
    expect(await one.open()).toEqual(['settled 60 amount_mismatch', 'settled 100 disputed'])
  })

  it.each(['open', 'dismissed'])('that is %s lets no poll say more than a fact', async (state) => {
    const one = await transfers.begin(flow)
    await one.say('settled', '60')
    if (state === 'dismissed') await one.decide(0, 'dismiss')
    expect(await one.poll({ state: 'settled', failure: null })).toBe('processing')
    expect(await one.poll({ state: 'settled', failure: null, amount: usd('100') })).toBe('processing')
    expect(await one.poll({ state: 'canceled', failure: null })).toBe('processing')
    expect(await one.poll({ state: 'rejected', failure: sanctions })).toBe('processing')
  })

  it.each([
    ['rejected', rejected],
    ['returned', back(3)],
    ['canceled', {}],
  ] as const)('that is held lets it not be %s by itself', async (kind, fields) => {
    const one = await transfers.begin(flow)
    await one.say('settled', '60')
    await one.say(kind, '100', fields)
    expect(await one.open()).toEqual(['settled 60 amount_mismatch', `${kind} 100 disputed`])
  })
})

describe('a wire that went back with the end', () => {
  it.each(['once the end is booked', 'at once'])('and comes again is held, %s', async (when) => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100', at(1))
    await one.reaches('processing')
    await one.say('returned', '100', back(2))
    if (when === 'once the end is booked') await one.reaches('failed')
    await one.say('accepted', '100', at(3))
    await one.say('accepted', '100', at(3), words('in other words'))
    await one.reaches('failed')
    expect(await one.open()).toEqual(['accepted 100 status_contradicted', 'accepted 100 status_contradicted'])
    expect(await one.change()).toEqual(moved('wire', 0, 100))
    await one.dismissAll()
    expect(await one.change()).toEqual({})
  })

  it('is no news in a late report of the first arrival', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '100', at(1))
    await one.reaches('processing')
    await one.say('returned', '100', back(2))
    await one.reaches('failed')
    await one.say('accepted', '100', at(1), words('in other words'))
    expect(await one.open()).toEqual([])
  })
})

describe.each(['payout', 'debit'] as const)('retriable returns of a complete %s', (flow) => {
  const mark = flow === 'payout' ? paid : drawn

  it('are in dispute as all others', async () => {
    const one = await transfers.begin(flow)
    await one.say('accepted', '100', mark(`A${one.id}`))
    await one.say('accepted', '100', mark(`B${one.id}`))
    await one.say('settled', '100', mark(`A${one.id}`))
    await one.reaches('complete')
    await one.say('returned', '40', back(3, { retriable: true }), mark(`A${one.id}`))
    await one.decide(0, 'apply')
    await one.say('returned', '60', back(4))
    expect(await one.open()).toEqual(['returned 60 disputed'])
    expect(await one.change()).toEqual(moved(flow, 60))
  })

  it('that may be repeats stop the ones behind them', async () => {
    const one = await transfers.begin(flow)
    await one.say('settled', '100')
    await one.reaches('complete')
    await one.say('returned', '30', back(2, { retriable: true }), { returnReference: 'R-1' })
    await one.say('returned', '30', back(3, { retriable: true }))
    await one.say('returned', '30', back(4, { retriable: true }), { returnReference: 'R-2' })
    expect(await one.open()).toEqual(['returned 30 possible_repeat', 'returned 30 disputed'])
  })

  it('of one payment are booked part by part', async () => {
    const one = await transfers.begin(flow)
    await one.say('accepted', '100', mark(`A${one.id}`))
    await one.say('settled', '100', mark(`A${one.id}`))
    await one.reaches('complete')
    for (const number of [2, 3, 4])
      await one.say('returned', '20', back(number, { retriable: true }), mark(`A${one.id}`), {
        returnReference: `R-${number}`,
      })
    expect(await one.open()).toEqual([])
    expect(await one.change()).toEqual(moved(flow, 40))
  })
})

describe('a failure of an earlier attempt', () => {
  const begun = async () => {
    const one = await transfers.begin('payout')
    await one.say('accepted', '100', paid(`A${one.id}`), at(1))
    await one.say('rejected', '100', retried(2), paid(`A${one.id}`))
    await one.reaches('failed')
    await one.say('accepted', '100', paid(`B${one.id}`), at(3))
    await one.reaches('processing')
    return one
  }
  const again = (number: number): Fields => back(number, { type: 'rejected', retriable: true, detail: 'R01' })

  it.each([2, 3])('that is repeated in other words ends nothing behind it', async (time) => {
    const one = await begun()
    await one.say('rejected', '100', again(time))
    await one.say('accepted', '100', paid(`C${one.id}`), at(4))
    await one.say('rejected', '100', back(5, { type: 'rejected' }), paid(`C${one.id}`))
    expect(await one.open()).toEqual(['rejected 100 disputed'])
    expect(await one.poll({ state: 'rejected', failure: sanctions })).toBe('processing')
    await one.reaches('processing')
  })

  it('that comes together with what is behind it ends nothing of that', async () => {
    const one = await begun()
    const transfer = await payments.read(one.id)
    const said = [
      ['rejected', again(2)],
      ['accepted', at(4), paid(`C${one.id}`)],
      ['rejected', back(5, { type: 'rejected' }), paid(`C${one.id}`)],
    ] as const
    const facts: RailFact[] = []
    for (const [kind, ...fields] of said)
      facts.push(await payments.factOf(transfer, kind, Object.assign({ amount: usd('100') }, ...fields)))
    await applyFacts(api.sandbox.service.context)(facts)
    expect(await one.open()).toEqual(['rejected 100 disputed'])
  })

  it('that is later than the last attempt ends that', async () => {
    const one = await begun()
    await one.say('rejected', '100', again(4))
    await one.say('accepted', '100', paid(`C${one.id}`), at(5))
    await one.say('rejected', '100', back(6, { type: 'rejected' }), paid(`C${one.id}`))
    expect(await one.open()).toEqual([])
    await one.reaches('failed')
    expect(await one.change()).toEqual({})
  })
})

describe('a retried payment', () => {
  const retriedOnce = async () => {
    const one = await transfers.begin('payout')
    await one.say('accepted', '100', paid(`A${one.id}`))
    await one.say('rejected', '100', retried(1), paid(`A${one.id}`))
    await one.reaches('failed')
    return one
  }

  it('fails by itself without another attempt', async () => {
    const one = await retriedOnce()
    await one.say('rejected', '100', back(2, { type: 'rejected' }), paid(`A${one.id}`))
    expect(await one.open()).toEqual([])
    expect(await one.change()).toEqual({})
  })

  it('with marks of its own fails by a poll', async () => {
    const one = await retriedOnce()
    await one.say('accepted', '100', paid(`B${one.id}`), at(2))
    await one.reaches('processing')
    expect(await one.poll({ state: 'rejected', failure: { ...sanctions, occurredAt: '2026-03-01T00:00:00Z' } })).toBe(
      'failed',
    )
  })
})

it('a return that a person applied, and the completion overtook, is booked by its copy', async () => {
  const one = await transfers.begin('payout')
  await one.say('accepted', '100', paid(`A${one.id}`))
  await one.say('accepted', '100', paid(`B${one.id}`))
  await one.say('returned', '100', back(3), paid(`A${one.id}`))
  const { context } = api.sandbox.service
  const { rows } = await inspect(context.pool).query(
    `select id from ${context.schema}.rail_fact where transfer_id = $1 and kind = 'returned'`,
    [one.id],
  )
  await inTransaction(context, async (tx) => {
    await observeComplete(tx, api, one.id)
    await resolveRailException(tx, context, rows[0].id, { action: 'apply', by: 'ops@example.com' })
  })
  await one.reaches('complete')
  expect(await one.open()).toEqual(['returned 100 status_contradicted'])
  await one.decide(0, 'apply', { accepts: ['disputed'] })
  expect(await one.change()).toEqual({})
})

describe('a report that is held for any reason of its transfer', () => {
  const holdAll = async (id: string, reason: string) => {
    const { context } = api.sandbox.service
    await inspect(context.pool).query(
      `update ${context.schema}.rail_fact set exception_reason = $2 where transfer_id = $1 and exception_reason is not null`,
      [id, reason],
    )
  }

  it.each(['apply_failed', 'payment_blocked'])('such as %s is one that a person decides about', async (reason) => {
    const one = await transfers.begin('payout')
    await one.say('settled', '60', paid(`A${one.id}`))
    await holdAll(one.id, reason)
    await one.say('settled', '100', at(3))
    await one.say('rejected', '100', rejected)
    expect(await one.open()).toEqual([`settled 60 ${reason}`, 'settled 100 disputed', 'rejected 100 disputed'])
    await one.decide(0, 'dismiss')
    expect(await one.poll({ state: 'settled', failure: null })).toBe('processing')
  })

  it('keeps the receipt of its wire', async () => {
    const one = await transfers.begin('wire')
    await one.say('accepted', '90')
    await holdAll(one.id, 'payment_blocked')
    await one.say('accepted', '90', words('in other words'))
    expect(await one.change()).toEqual(moved('wire', 0, 90))
  })
})

it('who applies a settlement of the whole behind a part learns that it would book nothing', async () => {
  const one = await transfers.begin('payout')
  await one.completeByPoll()
  await one.say('settled', '60')
  await one.decide(0, 'apply')
  await one.say('settled', '100', at(3))
  await expect(one.decide(0, 'apply')).rejects.toMatchObject(refused('books_nothing'))
})

it('the database and the code say the same of each reason', async () => {
  const reasons = Object.keys({
    ...{ unknown_transfer: 1, unknown_automation: 1, other_account: 1, other_reference: 1, other_virtual_account: 1 },
    ...{ status_contradicted: 1, other_transaction: 1, amount_mismatch: 1, reused_mark: 1, reference_reused: 1 },
    ...{ possible_repeat: 1, disputed: 1, books_nothing: 1, payment_blocked: 1, unreadable: 1, apply_failed: 1 },
  } satisfies Record<RailExceptionReason, 1>) as readonly RailExceptionReason[]
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select r.reason, ${schema}.is_of_transfer(r.reason) as own from unnest($1::text[]) as r(reason)`,
    [reasons],
  )
  expect(rows).toEqual(reasons.map((reason) => ({ reason, own: isOfTransfer(reason) })))
})
