import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
})
afterAll(() => api.stop())

/** A listener for which the reference of one transfer is not known yet. */
const reportWithout = async (id: string) => {
  await inspect(context.pool).query(
    `update ${context.schema}.transfer set reference = null, source_transaction_id = null, destination_transaction_id = null where id = $1`,
    [id],
  )
  const { engine } = context
  const get: typeof engine.transfers.get = async (transferId, tx) => {
    const stored = await engine.transfers.get(transferId, tx)
    return stored && transferId === id ? { ...stored, remoteId: null } : stored
  }
  return applyFacts({ ...context, engine: { ...engine, transfers: { ...engine.transfers, get } } })
}

it.each(['the engine alone', 'its row'])(
  'a fact with the reference of another transfer, which %s knows, moves neither and is an exception',
  async (who) => {
    const [transfer, other] = [await payments.payout(), await payments.payout()]
    const fact = await payments.factOf(transfer, 'settled')
    const { reference } = await payments.factOf(other, 'settled')
    const report = await reportWithout(transfer.id)
    if (who === 'the engine alone') await reportWithout(other.id)
    expect(await report([{ ...fact, reference }])).toEqual(new Set([reference]))
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'other_reference' }])
    const { remoteId, status } = (await context.engine.transfers.get(other.id)) ?? {}
    expect({ remoteId, status }).toEqual({ remoteId: reference, status: 'processing' })
    expect((await payments.read(transfer.id)).status).toBe('processing')
    expect(await applyFacts(context)([fact])).toEqual(new Set([fact.reference]))
    await payments.reaches(transfer.id, 'complete')
  },
)

it('a fact of a payment that nobody knows yet is reported again', async () => {
  const transfer = await payments.payout()
  const fact = { ...(await payments.factOf(transfer, 'settled')), reference: '0xnobody' }
  expect(await (await reportWithout(transfer.id))([fact])).toEqual(new Set())
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
})

it('a fact of a payment whose answer was lost for good is an exception, which counts once the transfer is resolved with its reference', async () => {
  const { submit } = context.rails
  const unknown = { outcome: 'unknown', detail: 'lost' } as const
  Object.assign(context.rails, { submit: async () => unknown })
  const source = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const amount = { value: '777', currency: 'USDC' }
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const path = `/accounts/${api.accountId}`
  const { body: payee } = await api.call<{ id: string }>('POST', `${path}/addresses/external`, {
    body: { name: 'Payee', address, transfer_types: ['base'] },
  })
  const { body: transfer } = await api.call<{ id: string }>('POST', `${path}/transfers`, {
    body: { amount, source, destination: { ...source, address_id: payee.id } },
  })
  await vi.waitFor(
    async () => {
      expect((await context.engine.transfers.get(transfer.id))?.reason).toBe('outcome_unknown')
    },
    { timeout: 60_000 },
  )
  const fact: RailFact = {
    ...{
      kind: 'settled',
      transferId: transfer.id,
      accountId: api.accountId,
      reference: '0xlost',
      amount,
      failure: null,
    },
    destination: { transactionId: '0xlost' },
  }
  const logger = recordingLogger()
  const report = applyFacts({ ...context, logger })
  for (let times = 0; times < 3; times += 1) expect(await report([fact])).toEqual(new Set())
  const waits = expect.objectContaining({ level: 'info', fields: expect.objectContaining({ transferId: transfer.id }) })
  expect(logger.entries).toEqual([waits])
  const { query } = inspect(context.pool)
  await query(`update ${context.schema}_engine.transfer set stage = 'blocked' where id = $1`, [transfer.id])
  expect(await report([fact])).toEqual(new Set(['0xlost']))
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  expect(exception).toMatchObject({ reason: 'payment_blocked', reference: '0xlost', amount })
  await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('Resolve its transfer'),
  })
  await inTransaction(context, (tx) => context.engine.transfers.resolve(tx, transfer.id, { remoteId: '0xlost' }))
  await payments.resolve(exception?.id ?? '', 'apply')
  expect((await payments.reaches(transfer.id, 'complete')).destination.transaction_id).toBe('0xlost')
  Object.assign(context.rails, { submit })
})

const from = (transactionId: string) => ({ source: { transactionId } })
/** Reports as for a wire whose reference nobody has learned yet. */
const reportUnknown = async (id: string) => {
  const expected = `delete from ${context.schema}.rail_fact where transfer_id = $1 and kind = 'expected'`
  await inspect(context.pool).query(expected, [id])
  return await reportWithout(id)
}
const reasonsOf = async (id: string) => (await payments.exceptions({ transferId: id })).map(({ reason }) => reason)
const heldIn = async (books: Awaited<ReturnType<typeof readBooks>>) => {
  await expectSoundLedger(context)
  return changeOf(books, await readBooks(api))
}

describe.each(['one by one', 'together'])('the money of a wire whose reports come %s', (how) => {
  const reportAll = async (report: ReturnType<typeof applyFacts>, facts: readonly RailFact[]) => {
    for (const some of how === 'together' ? [facts] : facts.map((one) => [one])) await report(some)
  }

  it('with the reference of another transfer is in the settlement account once until a person has dismissed the last', async () => {
    const [transfer, other] = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')]
    const { reference } = await payments.factOf(other, 'accepted')
    const facts = [
      { ...(await payments.factOf(transfer, 'accepted', from(`W1 ${how}`))), reference },
      { ...(await payments.factOf(transfer, 'settled', from(`W1 ${how}`))), reference },
    ]
    const books = await readBooks(api)
    await reportAll(await reportUnknown(transfer.id), facts)
    expect(await reasonsOf(transfer.id)).toEqual(['other_reference', 'other_reference'])
    expect(await heldIn(books)).toEqual({ 'settlement USD': 100 })
    const [first, second] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(first?.id ?? '', 'dismiss')
    expect(await heldIn(books)).toEqual({ 'settlement USD': 100 })
    await payments.resolve(second?.id ?? '', 'dismiss')
    expect(await heldIn(books)).toEqual({})
  })

  it('that its own reference credits, too, is booked once', async () => {
    const [transfer, other] = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')]
    const { reference } = await payments.factOf(other, 'accepted')
    const own = await payments.factOf(transfer, 'accepted', from(`W2 ${how}`))
    const books = await readBooks(api)
    await reportUnknown(transfer.id)
    // The engine knows the reference, and its event is not delivered yet.
    await reportAll(applyFacts(context), [{ ...own, reference }, own])
    await applyFacts(context)([await payments.factOf(transfer, 'settled', from(`W2 ${how}`))])
    await payments.reaches(transfer.id, 'complete')
    expect(await reasonsOf(transfer.id)).toEqual(['other_reference'])
    const credited = { 'custodial USDC': 100, 'issuer USDC': -100, 'settlement USD': 100 }
    expect(await heldIn(books)).toEqual(credited)
    for (const { id } of await payments.exceptions({ transferId: transfer.id })) await payments.resolve(id, 'dismiss')
    expect(await heldIn(books)).toEqual(credited)
  })

  it('with the reference of another transfer, and of another amount, is that of the report which a person credits', async () => {
    const [transfer, other] = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')]
    const { reference } = await payments.factOf(other, 'accepted')
    const amount = { value: '60.00', currency: 'USD' }
    const own = await payments.factOf(transfer, 'accepted', { ...from(`W4 ${how}`), amount })
    const books = await readBooks(api)
    const report = await reportUnknown(transfer.id)
    await report([{ ...own, amount: transfer.amount, reference }])
    await applyFacts(context)([own])
    expect(await reasonsOf(transfer.id)).toEqual(['other_reference', 'amount_mismatch'])
    expect(await heldIn(books)).toEqual({ 'settlement USD': 100 })
    const [, second] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(second?.id ?? '', 'apply')
    expect(await reasonsOf(transfer.id)).toEqual([])
    await applyFacts(context)([{ ...own, kind: 'settled' }])
    await payments.reaches(transfer.id, 'complete')
    expect(await heldIn(books)).toEqual({ 'custodial USDC': 60, 'issuer USDC': -60, 'settlement USD': 60 })
  })

  it('with the reference of another transfer is held for the first one no more once a person gives it to that', async () => {
    const [transfer, other] = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')]
    const own = await payments.factOf(other, 'accepted', from(`W5 ${how}`))
    const books = await readBooks(api)
    await (await reportUnknown(transfer.id))([{ ...own, transferId: transfer.id }])
    await reportAll(applyFacts(context), [own, { ...own, kind: 'settled' }])
    expect(await reasonsOf(other.id)).toEqual(['reused_mark', 'reused_mark'])
    const [first] = await payments.exceptions({ transferId: other.id })
    await payments.resolve(first?.id ?? '', 'apply')
    await payments.reaches(other.id, 'complete')
    expect(await reasonsOf(transfer.id)).toEqual(['other_reference'])
    const credited = { 'custodial USDC': 100, 'issuer USDC': -100, 'settlement USD': 100 }
    expect(await heldIn(books)).toEqual(credited)
    for (const { id } of await payments.exceptions({ transferId: transfer.id })) await payments.resolve(id, 'dismiss')
    expect(await heldIn(books)).toEqual(credited)
  })

  it('whose transfer the engine has blocked is in the settlement account until a person credits it', async () => {
    const transfer = await payments.wireOnramp('100.00')
    const accepted = await payments.factOf(transfer, 'accepted', from(`W3 ${how}`))
    const settled = await payments.factOf(transfer, 'settled', from(`W3 ${how}`))
    const books = await readBooks(api)
    const report = await reportUnknown(transfer.id)
    const { query } = inspect(context.pool)
    const engine = `${context.schema}_engine`
    const { rows } = await query(`select stage, remote_id from ${engine}.transfer where id = $1`, [transfer.id])
    const { stage, remote_id: remoteId } = rows[0] as { stage: string; remote_id: string }
    await query(`update ${engine}.transfer set stage = 'blocked', remote_id = null where id = $1`, [transfer.id])
    await reportAll(report, [accepted, settled])
    expect(await reasonsOf(transfer.id)).toEqual([
      'payment_blocked',
      how === 'together' ? 'payment_blocked' : 'disputed',
    ])
    expect(await heldIn(books)).toEqual({ 'settlement USD': 100 })
    await query(`update ${engine}.transfer set stage = $2, remote_id = $3 where id = $1`, [
      transfer.id,
      stage,
      remoteId,
    ])
    const [first, second] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(first?.id ?? '', 'apply')
    await payments.reaches(transfer.id, 'processing')
    await payments.resolve(second?.id ?? '', 'apply', { accepts: ['disputed'] })
    await payments.reaches(transfer.id, 'complete')
    expect(await heldIn(books)).toEqual({ 'custodial USDC': 100, 'issuer USDC': -100, 'settlement USD': 100 })
  })
})
