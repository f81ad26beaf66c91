import { randomBytes } from 'node:crypto'
import { defaultCatalog } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleBankAddress, testService } from '../../test/service.ts'
import { createService } from '../service.ts'
import { transfersRoutes } from '../transfers/routes.ts'
import type { RailAnswer, Rails } from './port.ts'
import { createSimulatedCustody } from './simulated/custody.ts'
import { createSimulatedRails } from './simulated/simulated-rails.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 10 })
afterAll(() => pool.end())
const logger = recordingLogger()
const clock = { now: () => new Date() }
const { simulation: _, ...simulated } = createSimulatedRails({ pool, schema: 'outlay_service', clock, logger })
const hanging = Promise.withResolvers<RailAnswer>()
const submitted: string[] = []
/** One rail that does not answer a submission, and others that do. */
const rails: Rails = {
  ...simulated,
  submit(instruction, options) {
    const rail = instruction.source.transferType
    submitted.push(rail)
    return rail === 'ach_debit' ? hanging.promise : simulated.submit(instruction, options)
  },
}
const service = createService({
  ...{ pool, rails, logger, encryptionKey: randomBytes(32), custody: createSimulatedCustody(defaultCatalog) },
  engine: { concurrency: 4, slowAfterMs: 500 },
})
const api = testService({ ...service.context, completesAccounts: true }, [transfersRoutes])
beforeAll(() => service.migrate())

it('a rail that hangs throttles no account at the other rails', async () => {
  const { token } = await api.signIn({ environment: 'mainnet' })
  const path = `/accounts/${await api.createAccount(token)}`
  type Listed = { addresses: { id: string; transfer_types: string[] }[] }
  const listed = await api.call<Listed>(`${path}/addresses?type=internal`, { token })
  const wallet = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))
  const post = async (to: string, body: unknown) =>
    (await api.call<{ id: string }>(`${path}${to}`, { token, key: crypto.randomUUID(), body })).json.id
  const bankId = await post('/addresses/external', { ...sampleBankAddress, transfer_types: ['ach_debit'] })
  const transfer = (source: object) =>
    post('/transfers', {
      amount: { value: '10', currency: 'USD' },
      source: { value_type: 'USD', ...source },
      destination: { address_id: wallet?.id, value_type: 'USDC', transfer_type: 'base' },
    })
  for (let count = 0; count < 12; count++) await transfer({ address_id: bankId, transfer_type: 'ach_debit' })
  await service.start()
  onTestFinished(async () => {
    hanging.resolve({ outcome: 'rejected', code: 'late', detail: 'late' })
    await service.stop()
  })
  const countWaiting = async () => {
    const { rows } = await inspect(pool).query(
      `select count(distinct a.transfer_id)::integer as waiting from outlay_service_engine.attempt a where a.outcome = 'throttled'`,
    )
    return rows[0].waiting
  }
  await waitUntil(async () => ((await countWaiting()) >= 8 ? true : undefined))
  const wireId = await transfer({ transfer_type: 'wire' })
  expect(
    await waitUntil(async () => (await service.context.engine.transfers.get(wireId))?.remoteId ?? undefined),
  ).toEqual(expect.any(String))
  expect(submitted.filter((rail) => rail === 'ach_debit').length).toBeLessThan(4)
  expect(logger.entries.filter(({ message }) => message.includes('throttles'))).toEqual([])
})
