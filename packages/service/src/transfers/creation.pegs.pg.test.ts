import { createCatalog } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Refusal, type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const catalog = createCatalog({
  valueTypes: [
    { name: 'EUR', kind: 'fiat', scale: 2 },
    { name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' },
  ],
})
let api: TestSandbox
let automations: TestAutomations
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }], { catalog })
  automations = testAutomations(api)
})
afterAll(() => api.stop())

const address = { street_line_1: 'Avenida Uno 1', city: 'Monterrey', state: 'NL', zip: '64000' }
const clabe = {
  owner: 'Ana Ruiz',
  name: 'Ana',
  account_number: '032180000118359719',
  account_type: 'checking',
  bank_address: address,
  beneficiary_address: address,
  transfer_types: ['spei'],
}
const wallet = (value_type: string) => ({ address_id: api.walletId, value_type, transfer_type: 'base' })
const create = (body: unknown) =>
  api.call<TransferResource & Refusal>('POST', `/accounts/${api.accountId}/transfers`, { body })
const stored = async () => {
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select (select count(*)::int from ${schema}.transfer) as transfers,
            (select count(*)::int from ${schema}.ledger_entry) as entries,
            (select sum(held)::float from ${schema}.ledger_account) as held`,
  )
  return rows[0]
}

it.each(['USDC', 'MXN'])(
  'an offramp of dollars to pesos is refused for an amount of %s, and holds nothing',
  async (currency) => {
    const payee = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, {
      body: clabe,
    })
    expect(payee.status).toBe(201)
    const before = await stored()
    const destination = { address_id: payee.body.id, value_type: 'MXN', transfer_type: 'spei' }
    const refused = await create({ amount: { value: '100', currency }, source: wallet('USDC'), destination })
    expect([refused.status, refused.body.code]).toEqual([422, 'peg_mismatch'])
    expect(refused.body.errors?.[0]?.source.pointer).toBe('/destination/value_type')
    expect(await stored()).toEqual(before)
  },
)

it('a swap, a payout and an inbound wire between pegs are refused', async () => {
  const payee = await automations.addWallet('0x52908400098527886E0F7030069857D2E4169EE7')
  const before = await stored()
  const destinations = [wallet('EURC'), { ...wallet('EURC'), address_id: payee }]
  const sources = [wallet('USDC'), { value_type: 'USD', transfer_type: 'wire' }]
  for (const source of sources) {
    for (const destination of destinations) {
      const refused = await create({ amount: { value: '5', currency: source.value_type }, source, destination })
      expect([refused.status, refused.body.code]).toEqual([422, 'peg_mismatch'])
    }
  }
  expect(await stored()).toEqual(before)
})

it('an automation whose dollars would become euros is refused with its field', async () => {
  const refused = await automations.create({ destination: wallet('EURC') })
  expect([refused.status, refused.body.code]).toEqual([422, 'peg_mismatch'])
  expect(refused.body.errors?.[0]?.source.pointer).toBe('/destination/value_type')
})

it('a deposit for an automation that was created before it was refused goes back', async () => {
  const automation = await automations.open()
  const { pool, schema } = api.sandbox.service.context
  await inspect(pool).query(`update ${schema}.automation set destination_value_type = 'EURC' where id = $1`, [
    automation.id,
  ])
  const { body } = await automations.wire(automation, { amount: '7' })
  expect(body).toMatchObject({ status: 'returned', return_reason: 'peg_mismatch' })
})
