import { randomBytes } from 'node:crypto'
import { defaultCatalog } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleBankAddress, testService } from '../../test/service.ts'
import { createService } from '../service.ts'
import { applyFacts } from '../transfers/facts.ts'
import { transfersRoutes } from '../transfers/routes.ts'
import type { RailFact, Rails } from './port.ts'
import { createSimulatedCustody } from './simulated/custody.ts'
import { createSimulatedRails } from './simulated/simulated-rails.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 10 })
afterAll(() => pool.end())
const logger = recordingLogger()
const clock = { now: () => new Date() }
const { simulation: _, ...simulated } = createSimulatedRails({ pool, schema: 'outlay_service', clock, logger })
const submitted: string[] = []
/** A rail that pays, reports that and loses its answer, and that takes the repeat for a duplicate. */
const rails: Rails = {
  ...simulated,
  async submit({ transferId, accountId, amount }) {
    submitted.push(transferId)
    if (submitted.length > 1) return { outcome: 'rejected', code: 'duplicate', detail: 'Sent already' }
    const fact: RailFact = {
      ...{ kind: 'settled', reference: 'P1', transferId, accountId, failure: null },
      amount: { ...amount, currency: 'USD' },
    }
    expect(await applyFacts(service.context)([fact])).toEqual(new Set())
    return { outcome: 'unknown', detail: 'Lost' }
  },
}
const service = createService({
  ...{ pool, rails, logger, encryptionKey: randomBytes(32), custody: createSimulatedCustody(defaultCatalog) },
})
const api = testService({ ...service.context, completesAccounts: true }, [transfersRoutes])
beforeAll(() => service.migrate())

it('a refusal ends no payment that its rail has reported as settled', async () => {
  const { token } = await api.signIn({ environment: 'mainnet' })
  const path = `/accounts/${await api.createAccount(token)}`
  type Listed = { addresses: { id: string; transfer_types: string[] }[] }
  const listed = await api.call<Listed>(`${path}/addresses?type=internal`, { token })
  const wallet = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))
  const post = async (to: string, body: unknown) =>
    (await api.call<{ id: string }>(`${path}${to}`, { token, key: crypto.randomUUID(), body })).json.id
  const bankId = await post('/addresses/external', { ...sampleBankAddress, transfer_types: ['ach_debit'] })
  const id = await post('/transfers', {
    amount: { value: '10', currency: 'USD' },
    source: { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: { address_id: wallet?.id, value_type: 'USDC', transfer_type: 'base' },
  })
  await service.start()
  onTestFinished(() => service.stop())
  const readOutcomes = async () => {
    const { rows } = await inspect(pool).query(
      'select outcome from outlay_service_engine.attempt where transfer_id = $1 order by 1 desc',
      [id],
    )
    return rows.map(({ outcome }) => outcome)
  }
  const outcomes = await waitUntil(async () => {
    const found = await readOutcomes()
    return found.filter((outcome) => outcome !== null).length >= 2 ? found : undefined
  })
  expect(outcomes.slice(0, 2)).toEqual(['unknown', 'unknown'])
  expect((await service.context.engine.transfers.get(id))?.status).toBe('pending')
})
