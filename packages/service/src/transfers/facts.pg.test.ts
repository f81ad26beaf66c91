import { recordingLogger, recordingTelemetry } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inClientTransaction, inTransaction, type ServiceContext } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

const database = await testDatabase({ role: 'ordinary' })
const logger = recordingLogger()
const telemetry = recordingTelemetry()
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  context = { ...api.sandbox.service.context, logger, telemetry }
  report = applyFacts(context)
})
afterAll(() => api.stop())

const factsOf = async (transferId: string) => {
  const { rows } = await inspect(context.pool).query(
    `select kind, rail, reference, applied_at is not null as applied, exception_reason as reason
       from ${context.schema}.rail_fact where transfer_id = $1 order by id`,
    [transferId],
  )
  return rows
}
const clientOf = async (accountId: string): Promise<string> => {
  const text = `select client_id from ${context.schema}.client_account where account_id = $1`
  return (await inspect(context.pool).query(text, [accountId])).rows[0]?.client_id
}
const resolve = (id: string, action: 'apply' | 'dismiss') =>
  inTransaction(context, (tx) =>
    resolveRailException(tx, context, id, { action, by: 'ops@example.com', note: 'Ticket' }),
  )
const counted = (reason: string) =>
  telemetry.values.filter(
    ({ instrument, attributes }) => instrument === 'outlay.rail.exceptions' && attributes?.['outlay.reason'] === reason,
  ).length

describe('a fact that a rail reports', () => {
  it('is stored and applied once, however often and by however many processes it is reported', async () => {
    const transfer = await payments.payout()
    const fact = await payments.factOf(transfer, 'settled', { amount: { value: '6660.040', currency: 'USDC' } })
    const answers = await Promise.all(Array.from({ length: 10 }, () => report([fact])))
    for (const answer of answers) expect(answer).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'complete')
    expect(await report([{ ...fact, amount: transfer.amount }])).toEqual(new Set([fact.reference]))
    expect(await factsOf(transfer.id)).toEqual([
      { kind: 'settled', rail: 'base', reference: fact.reference, applied: true, reason: null },
    ])
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
  })

  it('is stored although it cannot be applied now, is not accepted, and is applied later', async () => {
    const transfer = await payments.payout()
    const fact = await payments.factOf(transfer, 'settled')
    const observeMany = async () => {
      throw Object.assign(new Error('The database ends here.'), { code: '57P01' })
    }
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany } }
    await expect(applyFacts({ ...context, engine })([fact])).rejects.toThrow('ends here')
    expect(await factsOf(transfer.id)).toMatchObject([{ kind: 'settled', applied: false, reason: null }])
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'complete')
    expect(await factsOf(transfer.id)).toMatchObject([{ kind: 'settled', applied: true, reason: null }])
  })

  it('of a failure that may be retried leaves room for the end', async () => {
    const transfer = await payments.payout()
    const failure = { ...sanctions, retriable: true }
    await report([await payments.factOf(transfer, 'rejected', { failure })])
    await payments.reaches(transfer.id, 'failed')
    await report([await payments.factOf(transfer, 'accepted', { reachedAt: '2026-01-06T00:00:00.000Z' })])
    await report([await payments.factOf(transfer, 'settled')])
    await payments.reaches(transfer.id, 'complete')
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
  })
})

describe('a fact about a wire that its client has canceled', () => {
  const cancel = async () => {
    const { id } = await payments.wireOnramp('25')
    expect((await api.call('POST', `/accounts/${api.accountId}/transfers/${id}/cancel`)).status).toBe(200)
    return await payments.reaches(id, 'canceled')
  }

  it('is accepted when it says the same, and changes nothing', async () => {
    const transfer = await cancel()
    const fact = await payments.factOf(transfer, 'canceled')
    expect(await report([fact, fact])).toEqual(new Set([fact.reference]))
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    expect((await payments.read(transfer.id)).status).toBe('canceled')
  })

  it('is an exception when it says that the money was paid, which is credited to nobody', async () => {
    const transfer = await cancel()
    const before = await payments.balance()
    await report([await payments.factOf(transfer, 'settled')])
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'status_contradicted' }])
    expect((await payments.read(transfer.id)).status).toBe('canceled')
    expect(await payments.balance()).toBe(before)
    await expectSoundLedger(context)
  })
})

describe('a wire that is settled just before its client cancels it', () => {
  const settledUnseen = async () => {
    const transfer = await payments.wireOnramp('25')
    // The engine has yet to deliver that it is complete.
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany: async () => 1 } }
    await applyFacts({ ...context, engine })([await payments.factOf(transfer, 'settled')])
    expect(await factsOf(transfer.id)).toContainEqual(expect.objectContaining({ kind: 'settled', applied: true }))
    return transfer
  }

  it('is canceled, and its settlement is an exception from then on', async () => {
    const { id } = await settledUnseen()
    const before = await payments.balance()
    expect((await api.call('POST', `/accounts/${api.accountId}/transfers/${id}/cancel`)).status).toBe(200)
    expect(await payments.exceptions({ transferId: id })).toMatchObject([
      { kind: 'settled', reason: 'status_contradicted' },
    ])
    expect(await payments.balance()).toBe(before)
    await expectSoundLedger(context)
  })

  it('gives its client no view of what rails say', async () => {
    const { id } = await settledUnseen()
    const seen = await inClientTransaction(context, await clientOf(api.accountId), async (tx) => {
      await tx.query(`select ${context.schema}.rail_fact_contradict($1::jsonb)`, [
        JSON.stringify([{ id, status: 'canceled', failure: null }]),
      ])
      return (await tx.query(`select from ${context.schema}.rail_fact`)).rowCount
    })
    expect(seen).toBe(0)
  })
})

describe('a fact that contradicts what is known', () => {
  const cases: readonly [string, string, (fact: RailFact) => RailFact][] = [
    ['of an unknown transfer', 'unknown_transfer', (fact) => ({ ...fact, transferId: '0'.repeat(26) })],
    ['of another account', 'other_account', (fact) => ({ ...fact, accountId: api.otherAccountId })],
    ['with another reference', 'other_reference', (fact) => ({ ...fact, reference: '0xother' })],
    ['of another amount', 'amount_mismatch', (fact) => ({ ...fact, amount: { value: '1', currency: 'USDC' } })],
    ['of another currency', 'amount_mismatch', (fact) => ({ ...fact, amount: { ...fact.amount, currency: 'USDT' } })],
    ['without an amount', 'unreadable', ({ amount, ...fact }) => fact as RailFact],
    ['of an unknown kind', 'unreadable', (fact) => ({ ...fact, kind: 'vanished' as never })],
  ]

  it.each(cases)(
    '%s is an exception, which is logged and counted once, and changes nothing',
    async (_, reason, change) => {
      const transfer = await payments.payout()
      const fact = change(await payments.factOf(transfer, 'settled'))
      const [before, open] = [counted(reason), await payments.exceptions()]
      expect(await report([fact])).toEqual(new Set([fact.reference]))
      expect(await report([fact])).toEqual(new Set([fact.reference]))
      const added = (await payments.exceptions()).filter(({ id }) => !open.some((one) => one.id === id))
      expect(added).toMatchObject([{ reason, reference: fact.reference, resolution: null }])
      expect(counted(reason)).toBe(before + 1)
      expect(logger.entries.filter(({ fields }) => fields['factId'] === added[0]?.id)).toMatchObject([
        { level: 'warn' },
      ])
      await report([await payments.factOf(transfer, 'settled')])
      // Of two amounts that were said, a person says which one is right.
      const disputed = (await payments.exceptions({ transferId: transfer.id })).filter(
        (one) => one.reason === 'disputed',
      )
      expect(disputed).toHaveLength(reason === 'amount_mismatch' ? 1 : 0)
      for (const { id } of disputed) await payments.resolve(id, 'apply')
      await payments.reaches(transfer.id, 'complete')
      await expectSoundLedger(context)
    },
  )

  it.each([
    ['settled', 'rejected', 'failed'],
    ['rejected', 'settled', 'complete'],
  ] as const)('%s after %s is an exception', async (kind, first, status) => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, first)])
    const ended = await payments.reaches(transfer.id, status)
    const balance = await payments.balance()
    const fact = await payments.factOf(transfer, kind)
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    expect(exception).toMatchObject({ reason: 'status_contradicted', kind, rail: 'base', amount: transfer.amount })
    await expect(resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    expect(await payments.read(transfer.id)).toEqual(ended)
    expect(await payments.balance()).toBe(balance)
    await expectSoundLedger(context)
  })

  it('in the same batch as what it contradicts is an exception', async () => {
    const transfer = await payments.payout()
    const facts = [await payments.factOf(transfer, 'rejected'), await payments.factOf(transfer, 'settled')]
    await report(facts)
    await payments.reaches(transfer.id, 'failed')
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([
      { kind: 'settled', reason: 'status_contradicted' },
    ])
  })

  it('is an exception although it was applied before a poll of the engine says otherwise', async () => {
    const transfer = await payments.payout()
    const fact = await payments.factOf(transfer, 'settled')
    const observed = { remoteId: fact.reference, status: 'failed', failure: sanctions } as const
    const observeMany: typeof context.engine.transfers.observeMany = async (_, given) => {
      // The engine polls first, and its event is not delivered yet: the fact changes nothing there.
      await inTransaction(context, (tx) => context.engine.transfers.observe(tx, given[0]?.accountId ?? '', [observed]))
      return 0
    }
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany } }
    expect(await applyFacts({ ...context, engine })([fact])).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'failed')
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([
      { kind: 'settled', reason: 'status_contradicted' },
    ])
  })

  it('with another reference than the engine has is one before the engine has delivered its event', async () => {
    const transfer = await payments.wireOnramp('100.00')
    const { query } = inspect(context.pool)
    await query(`delete from ${context.schema}.rail_fact where transfer_id = $1`, [transfer.id])
    const fact = await payments.factOf(transfer, 'accepted', { reference: '20260105OUTL0000000001' })
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'other_reference' }])
    await report([await payments.factOf(transfer, 'accepted')])
    await payments.reaches(transfer.id, 'processing')
  })

  it('does not keep the other facts of its batch from being applied', async () => {
    const [transfer, other] = [await payments.payout(), await payments.payout()]
    const wrong = await payments.factOf(transfer, 'settled', { accountId: api.otherAccountId })
    const right = await payments.factOf(other, 'settled')
    expect(await report([wrong, right])).toEqual(new Set([wrong.reference, right.reference]))
    await payments.reaches(other.id, 'complete')
    expect((await payments.read(transfer.id)).status).toBe('processing')
  })
})

describe('a person', () => {
  it('dismisses an exception once, with a name and a note', async () => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, 'settled', { reference: '0xelsewhere' })])
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    const resolved = await resolve(exception?.id ?? '', 'dismiss')
    expect(resolved.resolution).toMatchObject({ action: 'dismissed', by: 'ops@example.com', note: 'Ticket' })
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    expect(await payments.exceptions({ transferId: transfer.id, includeResolved: true })).toEqual([resolved])
    await expect(resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    await expect(resolve('0'.repeat(26), 'dismiss')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('applies a fact whose amount was not the expected one', async () => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, 'settled', { amount: { value: '6660', currency: 'USDC' } })])
    expect((await payments.read(transfer.id)).status).toBe('processing')
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    expect(await resolve(exception?.id ?? '', 'apply')).toMatchObject({ resolution: { action: 'applied' } })
    await payments.reaches(transfer.id, 'complete')
    expect(await factsOf(transfer.id)).toMatchObject([{ applied: true, reason: 'amount_mismatch' }])
  })

  it('is shown one page of exceptions at a time', async () => {
    const all = await payments.exceptions({ includeResolved: true })
    const first = await payments.exceptions({ includeResolved: true, limit: 2 })
    const rest = await payments.exceptions({ includeResolved: true, after: first[1]?.id })
    expect([...first, ...rest]).toEqual(all)
    await expect(payments.exceptions({ limit: 0 })).rejects.toThrow('limit')
  })
})
