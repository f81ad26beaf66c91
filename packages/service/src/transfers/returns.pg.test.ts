import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { collectReceivables, listReceivables } from '../ledger/receivables.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1000' }]
let api: TestSandbox
let payments: TestPayments
let automations: TestAutomations
let context: ServiceContext
let report: RailFactListener
let bankId: string
let payeeId: string
beforeAll(async () => {
  api = await testSandbox(database.url, funds)
  payments = testPayments(api)
  automations = testAutomations(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
  const path = `/accounts/${api.accountId}`
  const bank = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  bankId = (await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body: bank })).body.id
  payeeId = await automations.addWallet('0x27b1fdb04752bbc536007a920d24acb045561c26')
  await api.call('POST', `${path}/webhooks`, {
    body: { url: 'https://acme.example/hook', event_types: ['transfer.returned'] },
  })
})
afterAll(() => api.stop())

const usd = (value: string) => ({ value, currency: 'USD' })
const wallet = () => ({ address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' })
const create = async (body: object) =>
  await api.call<TransferResource & { code?: string }>('POST', `/accounts/${api.accountId}/transfers`, { body })
const complete = async (id: string) => {
  const transfer = await payments.reaches(id, 'processing')
  await report([await payments.factOf(transfer, 'settled')])
  return await payments.reaches(id, 'complete')
}
const onramp = async (value: string, addressId = api.walletId) => {
  const source = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' }
  const { body } = await create({ amount: usd(value), source, destination: { ...wallet(), address_id: addressId } })
  return await complete(body.id)
}
const offramp = async (value: string) => {
  const destination = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_credit' }
  const { body } = await create({ amount: usd(value), source: wallet(), destination })
  return await complete(body.id)
}
const payout = (value: string) =>
  create({
    amount: { value, currency: 'USDC' },
    source: wallet(),
    destination: { ...wallet(), address_id: payeeId },
  })
const returned = async (transfer: TransferResource, fields: Partial<RailFact> = {}) =>
  await payments.factOf(transfer, 'returned', fields)
const owed = () => inTransaction(context, (tx) => listReceivables(tx, context, api.accountId))
const collect = () => inTransaction(context, (tx) => collectReceivables(tx, context, api.accountId))
const eventsOf = async (id: string) => {
  const { rows } = await inspect(context.pool).query(
    `select body::jsonb -> 'data' as data from ${context.schema}.webhook_event
      where type = 'transfer.returned' and body::jsonb #>> '{data,id}' = $1 order by id`,
    [id],
  )
  return rows.map(({ data }) => data)
}
const settlement = async () => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(entries_available), 0) as usd from ${context.schema}.ledger_balance
      where kind = 'settlement' and value_type = 'USD'`,
  )
  return Number(rows[0]?.usd)
}

describe('money that comes back after a transfer was complete', () => {
  it('is in the wallet again after an offramp, once, and the transfer shows it', async () => {
    const before = await payments.balance()
    const transfer = await offramp('100')
    expect(transfer).not.toHaveProperty('returns')
    const fact = await returned(transfer)
    for (let time = 0; time < 3; time += 1) expect(await report([fact])).toEqual(new Set([fact.reference]))
    expect(await payments.balance()).toBe(before)
    const after = await payments.read(transfer.id)
    const returns = [{ code: 'sanctions', amount: usd('100'), occurred_at: '2026-01-05T00:00:00.000Z' }]
    expect(after).toEqual({ ...transfer, returns, updated_at: after.updated_at })
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(transfer.updated_at))
    const listed = await api.call<{ transfers: TransferResource[] }>(
      'GET',
      `/accounts/${api.accountId}/transfers?page[size]=1`,
    )
    expect(listed.body.transfers).toEqual([after])
    expect(await eventsOf(transfer.id)).toEqual([after])
    expect([await payments.exceptions(), await owed()]).toEqual([[], []])
    await expectSoundLedger(context)
  })

  it('may be a part, then the rest, and never more than the whole', async () => {
    const before = await payments.balance()
    const transfer = await offramp('100')
    await report([await returned(transfer, { amount: usd('30.00') }), await returned(transfer, { amount: usd('70') })])
    await report([await returned(transfer, { amount: usd('0.01') })])
    const { returns, status } = await payments.read(transfer.id)
    expect([status, returns?.map(({ amount }) => amount)]).toEqual(['complete', [usd('30.00'), usd('70')]])
    expect(await payments.balance()).toBe(before)
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([
      { kind: 'returned', reason: 'amount_mismatch', amount: usd('0.01') },
    ])
  })

  it.each(['100', '30'])(
    'is booked once when one batch says twice that %s came back, and no fact beside it waits',
    async (value) => {
      const [before, transfer, other] = [await payments.balance(), await offramp('100'), await offramp('50')]
      const fact = await returned(transfer, { amount: usd(value) })
      const beside = await returned(other)
      const references = new Set([fact.reference, beside.reference])
      for (let time = 0; time < 2; time += 1)
        expect(await report([fact, { ...fact }, beside, fact])).toEqual(references)
      expect((await payments.read(transfer.id)).returns?.map(({ amount }) => amount)).toEqual([usd(value)])
      expect(await payments.balance()).toBe(before - 100 + Number(value))
      for (const { id } of [transfer, other]) expect(await payments.exceptions({ transferId: id })).toEqual([])
      const { rows } = await inspect(context.pool).query(
        `select applied_at from ${context.schema}.rail_fact where transfer_id = $1 and kind = 'returned'`,
        [transfer.id],
      )
      expect(rows).toEqual([{ applied_at: expect.any(Date) }])
      await expectSoundLedger(context)
    },
  )

  it('in two parts of the same amount is both, where each has its own reference', async () => {
    const [before, transfer] = [await payments.balance(), await offramp('100')]
    const part = await returned(transfer, { amount: usd('50') })
    await report([
      { ...part, returnReference: 'a' },
      { ...part, returnReference: 'b' },
    ])
    expect((await payments.read(transfer.id)).returns).toHaveLength(2)
    expect(await payments.balance()).toBe(before)
  })

  it('before the completion is booked is not accepted yet, and then reversed', async () => {
    const before = await payments.balance()
    const destination = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_credit' }
    const { body } = await create({ amount: usd('10'), source: wallet(), destination })
    const transfer = await payments.reaches(body.id, 'processing')
    const fact = await returned(transfer)
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany: async () => 1 } }
    await applyFacts({ ...context, engine })([await payments.factOf(transfer, 'settled')])
    expect(await report([fact])).toEqual(new Set())
    const observed = { remoteId: fact.reference, status: 'complete', failure: null } as const
    await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, [observed]))
    await payments.reaches(body.id, 'complete')
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    expect(await payments.balance()).toBe(before)
    await expectSoundLedger(context)
  })

  it('as a poll of the engine completes the transfer is an exception, and is reversed when a person applies it', async () => {
    const before = await payments.balance()
    const destination = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_credit' }
    const { body } = await create({ amount: usd('20'), source: wallet(), destination })
    const fact = await returned(await payments.reaches(body.id, 'processing'))
    const observed = { remoteId: fact.reference, status: 'complete', failure: null } as const
    const observeMany: typeof context.engine.transfers.observeMany = async (_, given) => {
      await inTransaction(context, (tx) => context.engine.transfers.observe(tx, given[0]?.accountId ?? '', [observed]))
      return 0
    }
    const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany } }
    await applyFacts({ ...context, engine })([fact])
    await payments.reaches(body.id, 'complete')
    const [exception] = await payments.exceptions({ transferId: body.id })
    expect(exception).toMatchObject({ kind: 'returned', reason: 'status_contradicted' })
    const decision = { action: 'apply', by: 'ops@example.com' } as const
    await inTransaction(context, (tx) => resolveRailException(tx, context, exception?.id ?? '', decision))
    expect((await payments.read(body.id)).returns).toMatchObject([{ amount: usd('20') }])
    expect(await payments.balance()).toBe(before)
    await expectSoundLedger(context)
  })

  it('is taken from the wallet after an onramp, as far as the wallet has it', async () => {
    const [before, dollars] = [await payments.balance(), await settlement()]
    const transfer = await onramp('50')
    await report([await returned(transfer)])
    expect([await payments.balance(), await settlement(), await owed()]).toEqual([before, dollars, []])
    await expectSoundLedger(context)
  })

  it('is taken back from a virtual account whose deposit the bank recalls', async () => {
    const [before, dollars] = [await payments.balance(), await settlement()]
    const automation = await automations.open()
    const { body } = await automations.wire(automation, { amount: '25.00' })
    await automations.transferReaches(body.transfer_id, 'processing')
    await automations.advance(60)
    const transfer = await automations.transferReaches(body.transfer_id, 'complete')
    await report([await returned(transfer)])
    expect([await payments.balance(), await settlement(), await owed()]).toEqual([before, dollars, []])
    await expectSoundLedger(context)
  })
})

describe('an account that has spent what comes back', () => {
  it('owes it, and sends nothing until it has paid', async () => {
    const transfer = await onramp('500')
    const spent = (await payments.balance()) - 120
    await complete((await payout(String(spent))).body.id)
    await report([await returned(transfer)])
    expect(await payments.balance()).toBe(0)
    expect(await owed()).toMatchObject([
      { addressId: api.walletId, transferType: 'base', amount: { value: '380', currency: 'USDC' }, blocksSends: true },
    ])
    await expectSoundLedger(context)
    await onramp('400')
    const refused = await payout('1')
    expect([refused.status, refused.body.code]).toEqual([422, 'insufficient_balance'])
    expect(await collect()).toEqual([])
    expect(await payments.balance()).toBe(20)
    await complete((await payout('1')).body.id)
    await expectSoundLedger(context)
  })

  it('pays as much as it has, and owes the rest', async () => {
    const transfer = await onramp('100')
    await complete((await payout(String(await payments.balance()))).body.id)
    await report([await returned(transfer)])
    await onramp('40')
    expect(await collect()).toMatchObject([{ amount: { value: '60', currency: 'USDC' } }])
    expect(await payments.balance()).toBe(0)
    await onramp('60')
    expect(await collect()).toEqual([])
    await expectSoundLedger(context)
  })

  it('owes tokens that were minted to an outside wallet, and may send where the policy allows it', async () => {
    const transfer = await onramp('70', payeeId)
    await applyFacts({ ...context, receivablePolicy: 'allow' })([await returned(transfer)])
    expect(await owed()).toMatchObject([{ addressId: payeeId, amount: { value: '70' }, blocksSends: false }])
    await onramp('80')
    expect((await payout('5')).status).toBe(201)
    expect(await collect()).toEqual([])
    await expectSoundLedger(context)
  })

  it('owes tokens that were minted to the wallet of another account, which keeps them and may send', async () => {
    const other = await api.sandbox.seedClient({ name: 'Other', accounts: [{ businessName: 'Other Inc' }] })
    const [theirs] = other.accounts[0]?.wallets.filter(({ transferTypes }) => transferTypes.includes('base')) ?? []
    const balance = async () => {
      const { rows } = await inspect(context.pool).query(
        `select available::float8 from ${context.schema}.ledger_account where address_id = $1 and value_type = 'USDC' and transfer_type = 'base'`,
        [theirs?.addressId],
      )
      return rows[0]?.available
    }
    const addressId = await automations.addWallet(theirs?.address ?? '')
    const transfer = await onramp('40', addressId)
    expect(await balance()).toBe(40)
    await report([await returned(transfer)])
    expect(await balance()).toBe(40)
    expect(await owed()).toContainEqual(
      expect.objectContaining({ addressId, amount: { value: '40', currency: 'USDC' } }),
    )
    const { rows } = await inspect(context.pool).query(
      `select 1 from ${context.schema}.receivable where account_id = $1`,
      [other.accounts[0]?.accountId],
    )
    expect(rows).toEqual([])
    await expectSoundLedger(context)
  })
})
