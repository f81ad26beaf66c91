import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sampleBankAddress, testService } from '../../test/service.ts'
import { createService } from '../service.ts'
import { transfersRoutes } from '../transfers/routes.ts'
import type { RailFact, RailFactListener, Rails } from './port.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 10 })
afterAll(() => pool.end())
const encryptionKey = randomBytes(32)
const accepting = createService({ pool, rails: 'simulated', encryptionKey })
const simulated = accepting.context.rails
const api = testService({ ...accepting.context }, [transfersRoutes])

let token: string
let create: () => Promise<string>
beforeAll(async () => {
  await accepting.migrate()
  token = (await api.signIn({ environment: 'mainnet' })).token
  const accountId = await api.createAccount(token)
  const listed = await api.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    `/accounts/${accountId}/addresses?type=internal`,
    { token },
  )
  const walletId = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))?.id ?? ''
  const body = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  const added = await api.call<{ id: string }>(`/accounts/${accountId}/addresses/external`, {
    token,
    key: crypto.randomUUID(),
    body,
  })
  create = async () => {
    const made = await api.call<{ id: string }>(`/accounts/${accountId}/transfers`, {
      token,
      key: crypto.randomUUID(),
      body: {
        amount: { value: '10', currency: 'USD' },
        source: { address_id: added.json.id, value_type: 'USD', transfer_type: 'ach_debit' },
        destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
      },
    })
    return made.json.id
  }
})

/** Rails that connect as they start and disconnect as they stop, each within a second. While they stop, they report `last`. */
function connectingRails(last: readonly RailFact[] = []) {
  let connected = false
  const without: string[] = []
  const accepted: string[] = []
  let report: RailFactListener | undefined
  const stopping = Promise.withResolvers<void>()
  const rails: Rails = {
    ...simulated,
    async start(...listeners) {
      await wait(1_000)
      connected = true
      report = listeners[0]
      await simulated.start(...listeners)
    },
    async stop() {
      connected = false
      stopping.resolve()
      if (last.length > 0) accepted.push(...((await report?.(last)) ?? []))
      await simulated.stop()
      await wait(1_000)
    },
    submit(instruction, options) {
      if (connected) return simulated.submit(instruction, options)
      without.push(instruction.transferId)
      return Promise.reject(new Error('not connected'))
    },
  }
  return { rails, without, accepted, stopping: stopping.promise }
}

it('no transfer is submitted before its rails have started', async () => {
  const id = await create()
  const { rails, without } = connectingRails()
  const service = createService({ pool, rails, encryptionKey })
  await service.start()
  await service.stop()
  expect(id).toEqual(expect.any(String))
  expect(without).toEqual([])
})

it('no transfer is submitted after its rails began to stop', async () => {
  const { rails, without, stopping } = connectingRails()
  const service = createService({ pool, rails, encryptionKey })
  await service.start()
  const stopped = service.stop()
  await stopping
  // Another process of the service accepts it meanwhile.
  await create()
  await stopped
  expect(without).toEqual([])
})

it('what the rails report while they stop is applied, although the engine has stopped', async () => {
  const { engine } = accepting.context
  const id = await create()
  const last: RailFact[] = []
  const { rails, accepted } = connectingRails(last)
  const service = createService({ pool, rails, encryptionKey })
  await service.start()
  const reference = await waitUntil(async () => (await engine.transfers.get(id))?.remoteId ?? undefined)
  const account = (await engine.transfers.get(id))?.accountId ?? ''
  const amount = { value: '10', currency: 'USD' }
  last.push({ kind: 'accepted', reference, transferId: id, accountId: account, amount, failure: null })
  await service.stop()
  const transfer = await engine.transfers.get(id)
  expect({ accepted, status: transfer?.status }).toEqual({ accepted: [reference], status: 'processing' })
})
