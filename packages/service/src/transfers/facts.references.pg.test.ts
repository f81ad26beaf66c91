import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
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
