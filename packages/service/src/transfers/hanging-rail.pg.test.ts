import { setTimeout as delay } from 'node:timers/promises'
import { manualClock, silentLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { sampleBankAddress, testContext, testSchema, testService } from '../../test/service.ts'
import { migrateService } from '../database/migrations.ts'
import type { RailRefusal, Rails } from '../rails/port.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({
  role: 'ordinary',
  key: 'service-http',
  prepare: async (url) => {
    const pool = new Pool({ connectionString: url })
    await migrateService({ pool, schema: testSchema })
    await pool.end()
  },
})
const pool = new Pool({ connectionString: database.url, max: 4 })
afterAll(() => pool.end())

it('a rail that does not answer about the transfers of one client takes no connections from the others', async () => {
  let end: (refusal: RailRefusal) => void = () => undefined
  const answer = new Promise<RailRefusal>((resolve) => {
    end = resolve
  })
  let asked = 0
  const validate: Rails['validate'] = async () => {
    asked += 1
    return answer
  }
  const rails = { validate } as Rails
  const context = testContext({ pool, clock: manualClock(), logger: silentLogger, rails })
  const service = testService(context, [transfersRoutes])
  const [{ token }, other] = [await service.signIn(), await service.signIn()]
  const accountId = await service.createAccount(token)
  const list = await service.call<{ addresses: { id: string; type: string }[] }>(`/accounts/${accountId}/addresses`, {
    token,
  })
  const bank = await service.call<{ id: string }>(`/accounts/${accountId}/addresses/external`, {
    method: 'POST',
    token,
    key: 'bank',
    body: sampleBankAddress,
  })
  const source = list.json.addresses.find(({ type }) => type === 'internal')?.id
  const create = (count: number) =>
    service.call(`/accounts/${accountId}/transfers`, {
      method: 'POST',
      token,
      key: `transfer-${count}`,
      body: {
        amount: { value: '5', currency: 'USD' },
        source: { address_id: source, value_type: 'USDC', transfer_type: 'base_sepolia' },
        destination: { address_id: bank.json.id, value_type: 'USD', transfer_type: 'ach_credit' },
      },
    })
  const creates = [1, 2, 3, 4, 5, 6].map(create)
  try {
    await waitUntil(() => asked >= 2)
    const another = service.createAccount(other.token).then(() => 'served')
    expect(await Promise.race([another, delay(10_000, 'waits')])).toBe('served')
  } finally {
    end({ code: 'invalid_account_number', field: 'destination.address_id', detail: 'There is no such account.' })
    await Promise.all(creates)
  }
})
