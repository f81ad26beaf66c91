import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction } from '../context.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payee: string
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }])
  const body = { name: 'Payee', address: api.otherWallet.address, transfer_types: ['base'] }
  payee = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
afterAll(() => api.stop())

const pay = (key?: string) => {
  const source = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = { amount: { value: '10', currency: 'USDC' }, source, destination: { ...source, address_id: payee } }
  return api.call('POST', `/accounts/${api.accountId}/transfers`, { body, ...(key === undefined ? {} : { key }) })
}
const refusal = { code: 'account_not_ready', errors: [{ source: { pointer: '/destination/address_id' } }] }
const review = (status: 'complete' | 'pending' | 'rejected') => {
  const { context } = api.sandbox.service
  return inTransaction(context, (tx) => setAccountStatus(tx, context, api.otherAccountId, status))
}
const transfers = async () => {
  const { pool, schema } = api.sandbox.service.context
  return (await inspect(pool).query(`select from ${schema}.transfer`)).rowCount
}

it.each(['pending', 'rejected'] as const)(
  'a payout to the wallet of an account that is %s is refused',
  async (status) => {
    const before = await transfers()
    await review(status)
    const refused = await pay(`to-${status}`)
    expect(refused.status).toBe(422)
    expect(refused.body).toMatchObject(refusal)
    expect(await transfers()).toBe(before)

    // The same key pays once the account is complete.
    await review('complete')
    expect((await pay(`to-${status}`)).status).toBe(201)
  },
)

it('a payout is refused whose payee is rejected after it was read', async () => {
  const { pool, schema } = api.sandbox.service.context
  const client = await pool.connect()
  await client.query(`begin; set local outlay.system = 'on'; select from ${schema}.ledger_account for update`)
  const paying = pay()
  const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await inspect(pool).query(waits)).rowCount === 0) await new Promise(setImmediate)
  await review('rejected')
  await client.query('rollback')
  client.release()
  const refused = await paying
  expect(refused.status).toBe(422)
  expect(refused.body).toMatchObject(refusal)
})
