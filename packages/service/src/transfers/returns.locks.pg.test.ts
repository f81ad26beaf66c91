import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { collectReceivables } from '../ledger/receivables.ts'
import { readPaymentFact } from '../rail-facts/payment-fact.ts'
import { recordFacts } from '../rail-facts/rail-facts.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts, applyStored } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
/** Begins an onramp to an address. */
let begin: (addressId: string) => Promise<TransferResource>
/** Onramps to three wallets outside, in the order of the wallets' ids, twice. */
const rounds: TransferResource[][] = [[], []]
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
  const automations = testAutomations(api)
  const path = `/accounts/${api.accountId}`
  const bank = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  const { body } = await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body: bank })
  const source = { address_id: body.id, value_type: 'USD', transfer_type: 'ach_debit' }
  begin = async (addressId) => {
    const destination = { address_id: addressId, value_type: 'USDC', transfer_type: 'base' }
    const onramp = { amount: { value: '5000', currency: 'USD' }, source, destination }
    const { body: created } = await api.call<TransferResource>('POST', `${path}/transfers`, { body: onramp })
    return await payments.reaches(created.id, 'processing')
  }
  const wallets = []
  for (const digit of ['1', '2', '3']) wallets.push(await automations.addWallet(`0x${digit.repeat(40)}`))
  for (const round of rounds)
    for (const addressId of wallets.toSorted()) {
      const transfer = await begin(addressId)
      await applyFacts(context)([await payments.factOf(transfer, 'settled')])
      round.push(await payments.reaches(transfer.id, 'complete'))
    }
  await giveBack(rounds[0] ?? [], '1')
  // The newest first.
  await inspect(context.pool).query(
    `update ${context.schema}.receivable r set since = now() - n * interval '1 day'
       from (select address_id, row_number() over (order by address_id) as n from ${context.schema}.receivable) o
      where o.address_id = r.address_id`,
  )
})
afterAll(() => api.stop())

/** Books that an amount of each came back, in one transaction, once. */
const giveBack = async (transfers: readonly TransferResource[], value: string) => {
  const amount = { value, currency: 'USD' }
  const facts: RailFact[] = []
  for (const transfer of transfers) facts.push(await payments.factOf(transfer, 'returned', { amount }))
  const stored = await recordFacts(
    asSystem(context),
    context,
    facts.map((fact) => readPaymentFact(fact).row),
  )
  const open = stored.map(({ id }, at) => ({ id, fact: facts[at] }))
  await inTransaction(context, (tx) => applyStored(tx, context, open))
}
const collect = async () => {
  await inTransaction(context, (tx) => collectReceivables(tx, context, api.accountId))
}
const locked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`

it.each([
  ['other returns', () => giveBack(rounds[1]?.toReversed() ?? [], '2')],
  ['a collection of what is owed', collect],
] as const)('returns and %s that need the same debts wait for each other', async (name, other) => {
  const works: Promise<void>[] = []
  await inTransaction(context, async (tx) => {
    await tx.query(`select from ${context.schema}.receivable order by address_id offset 1 limit 1 for update`)
    // One after the other gets to the debt in the middle, or waits behind the one that did.
    for (const work of [() => giveBack(rounds[0] ?? [], name === 'other returns' ? '3' : '4'), other]) {
      works.push(work())
      await vi.waitFor(async () => expect((await inspect(context.pool).query(locked)).rowCount).toBe(works.length), {
        timeout: 60_000,
      })
    }
  })
  const ended = await Promise.allSettled(works)
  expect(ended.filter(({ status }) => status === 'rejected')).toEqual([])
  await expectSoundLedger(context)
})

it('a report that another transaction was in the way of is applied again', async () => {
  const transfer = await begin(api.walletId)
  const { engine } = context
  let tries = 0
  const observeMany: typeof engine.transfers.observeMany = async (...given) => {
    tries += 1
    if (tries === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
    return await engine.transfers.observeMany(...given)
  }
  const report = applyFacts({ ...context, engine: { ...engine, transfers: { ...engine.transfers, observeMany } } })
  expect((await report([await payments.factOf(transfer, 'settled')])).size).toBe(1)
  await payments.reaches(transfer.id, 'complete')
  expect(tries).toBe(2)
})
