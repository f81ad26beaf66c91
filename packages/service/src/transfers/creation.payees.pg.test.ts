import { randomBytes } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestService, testService } from '../../test/service.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import type { AddressResource } from '../addresses/view.ts'
import { inTransaction } from '../context.ts'
import { deposit } from '../ledger/deposits.ts'
import type { Rails } from '../rails/port.ts'
import { createService } from '../service.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 4 })
afterAll(() => pool.end())
const logger = recordingLogger()
const { context, migrate } = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32), logger })

let whileValidating: () => Promise<unknown>
const validate: Rails['validate'] = async (...given) => {
  await whileValidating()
  return await context.rails.validate(...given)
}
const service: TestService = testService({ ...context, rails: { ...context.rails, validate } }, [transfersRoutes])

const open = async () => {
  const { token } = await service.signIn({ environment: 'mainnet' })
  const accountId = await service.createAccount(token)
  const { json } = await service.call<{ addresses: AddressResource[] }>(
    `/accounts/${accountId}/addresses?type=internal`,
    { token },
  )
  const wallet = json.addresses.find(({ transfer_types: types }) => types.includes('base'))
  if (wallet === undefined) throw new Error('The account has no wallet.')
  return { token, accountId, wallet }
}
type Opened = Awaited<ReturnType<typeof open>>
let payer: Opened
let payee: Opened
let registeredId: string
beforeAll(async () => {
  await migrate()
  payer = await open()
  const { accountId, wallet } = payer
  const funds = {
    accountId,
    addressId: wallet.id,
    valueType: 'USDC',
    transferType: 'base',
    amount: '100',
    reference: 'funds',
  }
  await inTransaction(context, (tx) => deposit(tx, context, funds))
})
beforeEach(async () => {
  whileValidating = async () => {}
  payee = await open()
  const { json } = await service.call<{ id: string }>(`/accounts/${payer.accountId}/addresses/external`, {
    token: payer.token,
    key: crypto.randomUUID(),
    body: { name: 'Payee', address: payee.wallet.address, transfer_types: ['base'] },
  })
  registeredId = json.id
})

const setStatus = (status: 'complete' | 'pending' | 'rejected') =>
  inTransaction(context, (tx) => setAccountStatus(tx, context, payee.accountId, status))
const archiveWallet = () =>
  inTransaction(context, (tx) =>
    tx.query(`update ${context.schema}.address set status = 'archived' where id = $1`, [payee.wallet.id]),
  )
const pay = (key: string = crypto.randomUUID()) =>
  service.call(`/accounts/${payer.accountId}/transfers`, {
    token: payer.token,
    key,
    body: {
      amount: { value: '3', currency: 'USDC' },
      source: { address_id: payer.wallet.id, value_type: 'USDC', transfer_type: 'base' },
      destination: { address_id: registeredId, value_type: 'USDC', transfer_type: 'base' },
    },
  })
const written = async () => {
  const { rows } = await inspect(pool).query(
    `select (select count(*)::int from ${context.schema}.transfer) as transfers,
            (select count(*)::int from ${context.schema}.ledger_entry) as entries`,
  )
  return rows[0]
}

it.each([
  ['pending', () => setStatus('pending')],
  ['rejected', () => setStatus('rejected')],
  ['complete, with a wallet that is archived', archiveWallet],
])('a payout to an account here that is %s is refused with its field, and holds nothing', async (_, change) => {
  await change()
  const before = await written()
  const { status, json } = await pay()
  expect([status, json['code']]).toEqual([422, 'payee_not_ready'])
  expect(json['errors']).toMatchObject([{ source: { pointer: '/destination/address_id' } }])
  expect(await written()).toEqual(before)
})

it.each(['pending', 'rejected'] as const)(
  'a payout to an account that becomes %s before the transfer is written is refused',
  async (status) => {
    const before = await written()
    whileValidating = () => setStatus(status)
    const refused = await pay()
    expect([refused.status, refused.json['code']]).toEqual([422, 'payee_not_ready'])
    expect(await written()).toEqual(before)
  },
)

it('the same key pays once the account is complete', async () => {
  await setStatus('pending')
  const key = crypto.randomUUID()
  expect((await pay(key)).json['code']).toBe('payee_not_ready')
  await setStatus('complete')
  expect((await pay(key)).status).toBe(201)
})
