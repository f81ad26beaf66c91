import type { Observation } from '@outlay/core'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

// A transaction that somebody leaves open is in the way of its own transfer, and of no other.

const database = await testDatabase({ role: 'ordinary' })
const logger = recordingLogger()
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  context = { ...api.sandbox.service.context, logger }
  report = applyFacts(context)
})
afterAll(() => api.stop())

const patience = { timeout: 60_000, interval: 50 }
const lockedOnce = () => logger.entries.filter(({ fields }) => fields['error'] === '55P03').length
/** Keeps a transfer locked, as a person does who thinks in psql, while `work` goes on. */
const whileLocked = (id: string, work: () => Promise<void>) =>
  inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.transfer where id = $1 for update`, [id])
    await work()
  })

/** Lets the statement that applies a fact of some transfers take longer than its limit while `work` goes on. */
const whileSlow = async (ids: readonly string[], work: () => Promise<void>) => {
  const { pool, schema } = context
  const isSlow = `new.applied_at is not null and new.transfer_id = any ('{${ids.join(',')}}')`
  await inspect(pool).query(`
    create function ${schema}.slow() returns trigger language plpgsql as $$
    begin if ${isSlow} then raise exception 'It takes too long.' using errcode = '57014'; end if; return new; end $$;
    create trigger slow before update on ${schema}.rail_fact for each row execute function ${schema}.slow()`)
  try {
    await work()
  } finally {
    await inspect(pool).query(`drop trigger slow on ${schema}.rail_fact; drop function ${schema}.slow()`)
  }
}

describe('a transfer whose facts take longer than a statement may', () => {
  it('steps aside as well, and those beside it are applied', async () => {
    const [slow, other] = [await payments.payout(), await payments.payout()]
    const [fact, beside] = [await payments.factOf(slow, 'settled'), await payments.factOf(other, 'settled')]
    await whileSlow([slow.id], async () => {
      expect(await report([fact, beside])).toEqual(new Set([beside.reference]))
      await payments.reaches(other.id, 'complete')
    })
    await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), patience)
    await payments.reaches(slow.id, 'complete')
  })

  it('stops a batch that is slow altogether, and none that comes behind it', async () => {
    const slow = []
    for (let at = 0; at < 5; at += 1) slow.push(await payments.payout())
    const other = await payments.payout()
    const facts = await Promise.all([...slow, other].map((one) => payments.factOf(one, 'settled')))
    await whileSlow(
      slow.map(({ id }) => id),
      async () => {
        await expect(report(facts)).rejects.toMatchObject({ code: '57014' })
        expect(await report(facts)).toEqual(new Set([facts.at(-1)?.reference]))
      },
    )
  })
})

describe('a transfer that another transaction has locked', () => {
  it('keeps no other fact of its batch waiting, steps aside, and is applied later', async () => {
    const [locked, other, third] = [await payments.payout(), await payments.payout(), await payments.payout()]
    const [fact, beside, next] = [
      await payments.factOf(locked, 'settled'),
      await payments.factOf(other, 'settled'),
      await payments.factOf(third, 'settled'),
    ]
    await whileLocked(locked.id, async () => {
      expect(await report([fact, beside])).toEqual(new Set([beside.reference]))
      await payments.reaches(other.id, 'complete')
      const warned = lockedOnce()
      expect(warned).toBe(1)
      expect(await report([fact, next])).toEqual(new Set([next.reference]))
      await payments.reaches(third.id, 'complete')
    })
    await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), patience)
    await payments.reaches(locked.id, 'complete')
    await expectSoundLedger(context)
  })

  it('leaves its later facts behind the first one', async () => {
    const [locked, other] = [await payments.payout(), await payments.payout()]
    const facts = [
      await payments.factOf(locked, 'accepted', { destination: { transactionId: '0xd1' } }),
      await payments.factOf(other, 'settled'),
      await payments.factOf(locked, 'settled', { destination: { transactionId: '0xd1' } }),
    ]
    const before = lockedOnce()
    await whileLocked(locked.id, async () => {
      expect(await report(facts)).toEqual(new Set([facts[1]?.reference]))
    })
    expect(lockedOnce()).toBe(before + 1)
    await vi.waitFor(async () => expect((await report(facts)).size).toBe(2), patience)
    await payments.reaches(locked.id, 'complete')
    expect(await payments.exceptions({ transferId: locked.id })).toEqual([])
  })

  it('keeps no event of the engine about another transfer waiting', async () => {
    const [locked, other] = [await payments.payout(), await payments.payout()]
    const observed: Observation[] = []
    for (const one of [locked, other]) {
      const { reference: remoteId } = await payments.factOf(one, 'settled')
      observed.push({ remoteId, status: 'complete', failure: null } as const)
    }
    await whileLocked(locked.id, async () => {
      await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, observed))
      await payments.reaches(other.id, 'complete')
    })
    await payments.reaches(locked.id, 'complete')
  })
})

it('a decision about an exception that nobody commits keeps no fact of another transfer waiting', async () => {
  const [transfer, other] = [await payments.payout(), await payments.payout()]
  const amount = { value: '1', currency: 'USDC' }
  await report([await payments.factOf(transfer, 'settled', { amount })])
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  const facts = [await payments.factOf(transfer, 'settled'), await payments.factOf(other, 'settled')]
  await inTransaction(context, async (tx) => {
    await resolveRailException(tx, context, exception?.id ?? '', { action: 'dismiss', by: 'ops@example.com' })
    expect(await report(facts)).toEqual(new Set([facts[1]?.reference]))
  })
  await vi.waitFor(async () => expect((await report(facts)).size).toBe(2), patience)
  const [disputed] = await payments.exceptions({ transferId: transfer.id })
  expect(disputed).toMatchObject({ kind: 'settled', reason: 'disputed' })
  await payments.resolve(disputed?.id ?? '', 'apply')
  await payments.reaches(transfer.id, 'complete')
})
