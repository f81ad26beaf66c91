import { randomBytes } from 'node:crypto'
import { defaultCatalog } from '@outlay/core'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleBankAddress, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { listRailExceptions } from '../rail-exceptions/rail-exceptions.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import { createPolledTransfers } from '../rail-facts/polled-transfers.ts'
import { railsGateway } from '../rails/gateway.ts'
import type { RailFact, Rails } from '../rails/port.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { createSimulatedRails } from '../rails/simulated/simulated-rails.ts'
import { createService } from '../service.ts'
import { cancelTransfer } from './cancellation.ts'
import { applyFacts } from './facts.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 10 })
afterAll(() => pool.end())
const logger = recordingLogger()
const clock = { now: () => new Date() }
const { simulation: _, ...simulated } = createSimulatedRails({ pool, schema: 'outlay_service', clock, logger })
/** A rail that has not begun with what it accepts, and cancels whatever it is asked to. */
const rails: Rails = {
  ...simulated,
  submit: async ({ transferId }) => ({ outcome: 'expected', reference: `P${transferId}` }),
  cancel: async () => ({ outcome: 'canceled' }),
}
const service = createService({
  ...{ pool, rails, logger, encryptionKey: randomBytes(32), custody: createSimulatedCustody(defaultCatalog) },
})
const api = testService({ ...service.context, completesAccounts: true }, [transfersRoutes])

let accountId: string
let create: () => Promise<string>
let cancel: (id: string) => Promise<{ readonly status: number; readonly code?: string | undefined }>
beforeAll(async () => {
  await service.migrate()
  const { token } = await api.signIn({ environment: 'mainnet' })
  accountId = await api.createAccount(token)
  const path = `/accounts/${accountId}`
  type Listed = { addresses: { id: string; transfer_types: string[] }[] }
  const listed = await api.call<Listed>(`${path}/addresses?type=internal`, { token })
  const wallet = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))
  const post = (to: string, body: unknown = {}) =>
    api.call<{ id: string; code?: string }>(`${path}${to}`, { token, key: crypto.randomUUID(), body })
  const bank = await post('/addresses/external', { ...sampleBankAddress, transfer_types: ['ach_debit'] })
  create = async () => {
    const made = await post('/transfers', {
      amount: { value: '10', currency: 'USD' },
      source: { address_id: bank.json.id, value_type: 'USD', transfer_type: 'ach_debit' },
      destination: { address_id: wallet?.id, value_type: 'USDC', transfer_type: 'base' },
    })
    return made.json.id
  }
  cancel = async (id) => {
    const { status, json } = await post(`/transfers/${id}/cancel`)
    return { status, code: json.code }
  }
})

/** A debit that its rail has yet to begin, while no process delivers events. */
async function expected(): Promise<string> {
  await service.start()
  const id = await create()
  await waitUntil(async () => (await service.context.engine.transfers.get(id))?.remoteId ?? undefined)
  await service.stop()
  return id
}

async function settle(id: string, value: string): Promise<void> {
  const amount = { value, currency: 'USD' }
  const fact: RailFact = { kind: 'settled', reference: `P${id}`, transferId: id, accountId, amount, failure: null }
  expect(await applyFacts(service.context)([fact])).toEqual(new Set([`P${id}`]))
}

const refused = { code: 'transfer_not_cancelable' }

it.each([
  ['a part is held', '6'],
  ['all is applied, and the event of the engine is not delivered yet', '10'],
])('a pending transfer of whose settlement %s is not canceled, whoever asks', async (_, value) => {
  const id = await expected()
  await settle(id, value)
  expect(await cancel(id)).toEqual({ status: 409, ...refused })
  await expect(cancelTransfer(service.context, {}, accountId, id)).rejects.toMatchObject(refused)
})

it.each(['6', '10'])('a settlement of %s that is reported while the rail cancels is not lost', async (value) => {
  const id = await expected()
  const asked: Rails = {
    ...rails,
    async cancel() {
      await settle(id, value)
      return { outcome: 'canceled' }
    },
  }
  const canceling = cancelTransfer({ ...service.context, rails: asked }, {}, accountId, id)
  await expect(canceling).rejects.toMatchObject(refused)
})

it('what a rail has canceled and the service has refused ends once a person has decided about both reports', async () => {
  const id = await expected()
  await settle(id, '6')
  expect(await cancel(id)).toEqual({ status: 409, ...refused })
  const exceptions = () =>
    inTransaction(service.context, (tx) => listRailExceptions(tx, service.context, { transferId: id }))
  const decide = async (action: 'apply' | 'dismiss') => {
    const [one] = await exceptions()
    const by = { action, by: 'ops@example.com' } as const
    await inTransaction(service.context, (tx) => resolveRailException(tx, service.context, one?.id ?? '', by))
  }
  await decide('dismiss')
  const get: Rails['get'] = async (reference) => ({ reference, state: 'canceled', failure: null })
  const polled = createPolledTransfers(service.context)
  const { signal } = new AbortController()
  await railsGateway({ ...rails, get }, async () => undefined, polled).get(accountId, `P${id}`, {
    signal,
    transferId: id,
  })
  expect(await exceptions()).toMatchObject([{ kind: 'canceled', reason: 'disputed', rail: 'ach_debit' }])
  await decide('apply')
  await service.start()
  await waitUntil(async () => (await service.context.engine.transfers.get(id))?.status === 'canceled' || undefined)
  await service.stop()
})

it('a pending transfer of which nothing is reported is canceled', async () => {
  expect(await cancel(await expected())).toMatchObject({ status: 200 })
})
