import { randomBytes, randomUUID } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleBankAddress, type TestService, testService } from '../../test/service.ts'
import { createService } from '../service.ts'
import { webhooksRoutes } from '../webhooks/routes.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
const encryptionKey = randomBytes(32)
const pools: Pool[] = []
afterAll(() => Promise.all(pools.map((pool) => pool.end())))
const process = (options: object = {}): TestService => {
  const pool = new Pool({ connectionString: database.url, max: 4, ...options })
  pools.push(pool)
  const { context } = createService({ pool, rails: 'simulated', encryptionKey, logger: recordingLogger() })
  return testService({ ...context, allowPrivateWebhooks: true }, [transfersRoutes, webhooksRoutes])
}
const first = process()
const { schema } = first.context

let token: string
let accountId: string
let body: object
beforeAll(async () => {
  await createService({
    pool: pools[0] as Pool,
    rails: 'simulated',
    encryptionKey,
    logger: recordingLogger(),
  }).migrate()
  token = (await first.signIn({ environment: 'mainnet' })).token
  accountId = await first.createAccount(token)
  const { json: listed } = await first.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    `/accounts/${accountId}/addresses?type=internal`,
    { token },
  )
  const walletId = listed.addresses.find(({ transfer_types: types }) => types.includes('base'))?.id ?? ''
  const { json: bank } = await first.call<{ id: string }>(`/accounts/${accountId}/addresses/external`, {
    ...{ token, key: randomUUID(), body: { ...sampleBankAddress, transfer_types: ['ach_debit'] } },
  })
  body = {
    amount: { value: '10', currency: 'USD' },
    source: { address_id: bank.id, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
  }
})
const create = (of: TestService, key: string = randomUUID()) =>
  of.call<{ id: string }>(`/accounts/${accountId}/transfers`, { token, key, body })

/** A transaction of somebody else. */
async function holding(text: string) {
  const client = await (pools[0] as Pool).connect()
  await client.query(`begin; set local outlay.system = 'on'; ${text}`)
  return async (end: 'commit' | 'rollback') => {
    await client.query(end)
    client.release()
  }
}

it('a create writes its transfer when a webhook of the account is removed meanwhile, and no delivery to it', async () => {
  const { json: hook } = await first.call<{ id: string }>(`/accounts/${accountId}/webhooks`, {
    ...{ token, key: randomUUID(), body: { url: 'http://127.0.0.1:9/hook', event_types: ['*'] } },
  })
  const end = await holding(`delete from ${schema}.webhook_registration where id = '${hook.id}'`)
  const creating = create(first)
  const locked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  while ((await inspect(pools[0] as Pool).query(locked)).rowCount === 0) await new Promise(setImmediate)
  await end('commit')
  expect((await creating).status).toBe(201)
  const { rows } = await inspect(pools[0] as Pool).query(`select from ${schema}.webhook_delivery`)
  expect(rows).toEqual([])
})

it('a stored answer is replayed by a process that cannot read the parties', async () => {
  const key = randomUUID()
  const { json: made } = await create(first, key)
  const second = process({ statement_timeout: 3_000 })
  await second.call(`/accounts/${accountId}/transfers`, { token })
  const end = await holding(`lock table ${schema}.address in access exclusive mode`)
  const again = await create(second, key)
  await end('rollback')
  expect([again.status, again.json.id]).toEqual([201, made.id])
})
