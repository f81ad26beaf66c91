import { randomBytes } from 'node:crypto'
import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleBankAddress, type TestService, testService } from '../../test/service.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction } from '../context.ts'
import type { Rails } from '../rails/port.ts'
import { createService } from '../service.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 4 })
afterAll(() => pool.end())
const logger = recordingLogger()
const service = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32), logger })

const simulated = service.context.rails
let rails: Rails
const processWith = (railTimeoutMs: number): TestService =>
  testService({ ...service.context, railTimeoutMs, rails: { ...simulated, ...delegate } }, [transfersRoutes])
const delegate: Pick<Rails, 'validate' | 'wireInstructions'> = {
  validate: (...given) => rails.validate(...given),
  wireInstructions: (...given) => rails.wireInstructions(...given),
}
const patient = processWith(60_000)
const impatient = processWith(100)

let token: string
let accountId: string
let walletId: string
let bankId: string
beforeAll(async () => {
  await service.migrate()
  token = (await patient.signIn({ environment: 'mainnet' })).token
})
beforeEach(async () => {
  rails = simulated
  accountId = await patient.createAccount(token)
  const listed = await patient.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    `/accounts/${accountId}/addresses?type=internal`,
    { token },
  )
  walletId = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))?.id ?? ''
  const body = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  const path = `/accounts/${accountId}/addresses/external`
  const added = await patient.call<{ id: string }>(path, { token, key: crypto.randomUUID(), body })
  expect(added.json).toHaveProperty('id')
  bankId = added.json.id
})

const debit = () => ({ address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' })
const wire = { value_type: 'USD', transfer_type: 'wire' }
const create = (of: TestService, source: object = debit(), key: string = crypto.randomUUID()) =>
  of.call(`/accounts/${accountId}/transfers`, {
    token,
    key,
    body: {
      amount: { value: '10', currency: 'USD' },
      source,
      destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
    },
  })
const count = async (table: 'transfer' | 'webhook_event' | 'idempotency_key') =>
  Number((await inspect(pool).query(`select count(*) from ${service.context.schema}.${table}`)).rows[0].count)
const everything = async () => [await count('transfer'), await count('webhook_event'), await count('idempotency_key')]

/** Lets one member of the rails hang until it is released. */
function hang(member: 'validate' | 'wireInstructions') {
  const released = Promise.withResolvers<void>()
  onTestFinished(() => released.resolve())
  const calls = vi.fn()
  rails = {
    ...simulated,
    [member]: async (...given: readonly unknown[]) => {
      calls()
      await released.promise
      return await (simulated[member] as (...given: readonly unknown[]) => unknown)(...given)
    },
  }
  return { calls, release: released.resolve }
}

it.each([
  ['validate', debit],
  ['wireInstructions', () => wire],
] as const)('creates that hang in %s hold no connection, and another client is served', async (member, source) => {
  const { calls, release } = hang(member)
  const creates = Array.from({ length: 6 }, () => create(patient, source()))
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(6), { timeout: 60_000 })
  expect(pool.idleCount).toBe(pool.totalCount)
  const other = await patient.signIn()
  await patient.createAccount(other.token)
  release()
  expect((await Promise.all(creates)).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 201))
})

it('a client whose creates take all its places of a rail cancels a transfer of that rail', async () => {
  const transfer = await create(patient, wire)
  const { calls, release } = hang('wireInstructions')
  const creates = Array.from({ length: 32 }, () => create(patient, wire))
  await vi.waitFor(() => expect(calls.mock.calls.length).toBeGreaterThanOrEqual(16), { timeout: 60_000 })
  const path = `/accounts/${accountId}/transfers/${transfer.json['id']}/cancel`
  const canceled = await patient.call(path, { method: 'POST', token, key: crypto.randomUUID() })
  expect([canceled.status, canceled.json['status']]).toEqual([200, 'canceled'])
  release()
  expect((await Promise.all(creates)).map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 201))
})

it('a client whose creates hang leaves places of that rail to another client', async () => {
  const { calls, release } = hang('validate')
  const creates = Array.from({ length: 33 }, () => create(patient))
  await vi.waitFor(() => expect(calls.mock.calls.length).toBeGreaterThanOrEqual(16), { timeout: 60_000 })
  const other = await patient.signIn({ environment: 'mainnet' })
  const account = await patient.createAccount(other.token)
  const listed = await patient.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    `/accounts/${account}/addresses?type=internal`,
    { token: other.token },
  )
  const addressId = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))?.id
  const added = await patient.call<{ id: string }>(`/accounts/${account}/addresses/external`, {
    token: other.token,
    key: crypto.randomUUID(),
    body: { ...sampleBankAddress, transfer_types: ['ach_debit'] },
  })
  const before = calls.mock.calls.length
  const theirs = patient.call(`/accounts/${account}/transfers`, {
    token: other.token,
    key: crypto.randomUUID(),
    body: {
      amount: { value: '10', currency: 'USD' },
      source: { address_id: added.json.id, value_type: 'USD', transfer_type: 'ach_debit' },
      destination: { address_id: addressId, value_type: 'USDC', transfer_type: 'base' },
    },
  })
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(before + 1), { timeout: 60_000 })
  release()
  expect((await theirs).status).toBe(201)
  expect((await Promise.all(creates)).map(({ status }) => status)).toEqual(Array.from({ length: 33 }, () => 201))
})

it.each([
  ['validate', debit],
  ['wireInstructions', () => wire],
] as const)(
  'a create whose rail does not answer %s is refused for now, and leaves nothing behind',
  async (member, source) => {
    const before = await everything()
    const { release } = hang(member)
    const key = crypto.randomUUID()
    const late = await create(impatient, source(), key)
    expect([late.status, late.json['code']]).toEqual([503, 'service_unavailable'])
    expect([late.headers.get('retry-after'), late.headers.get('idempotency-key-evaluated')]).toEqual(['5', null])
    release()
    expect(await everything()).toEqual(before)
    rails = simulated
    const again = await create(patient, source(), key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null])
  },
)

it('a rail that fails does the same, and what it says of a bank account reaches neither the answer nor the log', async () => {
  const secret = sampleBankAddress.account_number
  rails = { ...simulated, validate: () => Promise.reject(new Error(`No ${secret}`)) }
  const failed = await create(patient)
  expect([failed.status, failed.json['code']]).toEqual([503, 'service_unavailable'])
  expect(failed.text + JSON.stringify(logger.entries)).not.toContain(secret)
})

it.each([
  ['the process that has stored it', () => patient],
  ['another process', () => processWith(60_000)],
])('a stored answer is replayed by %s while the rail hangs', async (_, process) => {
  const key = crypto.randomUUID()
  const first = await create(patient, debit(), key)
  const { calls } = hang('validate')
  const second = await create(process(), debit(), key)
  expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  const other = await create(process(), wire, key)
  expect([other.json['code'], other.headers.get('idempotency-key-evaluated')]).toEqual([
    'idempotency_key_mismatch',
    'true',
  ])
  const malformed = await create(process(), {}, key)
  expect(malformed.json['code']).toBe('idempotency_key_mismatch')
  expect(calls).not.toHaveBeenCalled()
})

it('equal creates in two processes have one effect, even if the rail accepts both before either is written', async () => {
  const [transfers = 0] = await everything()
  const { calls, release } = hang('validate')
  const key = crypto.randomUUID()
  const creates = [create(patient, debit(), key), create(processWith(60_000), debit(), key)]
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(2), { timeout: 60_000 })
  release()
  const [one, other] = await Promise.all(creates)
  expect([one?.status, one?.text]).toEqual([201, other?.text])
  expect(await count('transfer')).toBe(transfers + 1)
})

it('a request that the rail accepts too late gets the answer that another one has stored under its key', async () => {
  const { calls, release } = hang('validate')
  const key = crypto.randomUUID()
  const slow = create(patient, debit(), key)
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(1), { timeout: 60_000 })
  rails = simulated
  const fast = await create(processWith(60_000), debit(), key)
  const other = await create(processWith(60_000), wire, key)
  expect(other.json['code']).toBe('idempotency_key_mismatch')
  release()
  expect([(await slow).text, (await slow).headers.get('idempotent-replayed')]).toEqual([fast.text, 'true'])
})

const archive = (addressId: string) =>
  patient.call(`/addresses/${addressId}`, { method: 'PATCH', token, body: { status: 'archived' } })
const requireLogin = (addressId: string) =>
  inTransaction(service.context, (tx) =>
    tx.query(`update ${service.context.schema}.address set bank_login_required_at = now() where id = $1`, [addressId]),
  )
const close = () => inTransaction(service.context, (tx) => setAccountStatus(tx, service.context, accountId, 'rejected'))

it.each([
  ['an address that is archived', () => archive(bankId), 422, 'address_archived', 'true'],
  ['a bank account that needs a new login', () => requireLogin(bankId), 422, 'bank_login_required', null],
  ['an account that is closed', () => close(), 422, 'account_not_ready', null],
])('%s while the rail validates refuses the create', async (_, change, status, code, evaluated) => {
  const [transfers, events] = await everything()
  const { calls, release } = hang('validate')
  const creating = create(patient)
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(1), { timeout: 60_000 })
  await change()
  release()
  const refused = await creating
  expect([refused.status, refused.json['code']]).toEqual([status, code])
  expect(refused.headers.get('idempotency-key-evaluated')).toBe(evaluated)
  expect((await everything()).slice(0, 2)).toEqual([transfers, events])
})

it('a rail that hangs has a limited number of calls of a client, and hinders neither creates over other rails nor /ready', async () => {
  const { calls, release } = hang('validate')
  const hanging = rails.validate
  rails = {
    ...rails,
    validate: (...given) => (given[0].source.transferType === 'ach_debit' ? hanging : simulated.validate)(...given),
  }
  const process = processWith(60_000)
  const answers: string[] = []
  const hung = Array.from({ length: 600 }, async () => {
    const { status, json, headers } = await create(process)
    answers.push(`${status} ${json['code']} ${headers.get('retry-after')}`)
  })
  const refused = Array.from({ length: 600 - 16 - 64 }, () => '503 service_unavailable 5')
  await vi.waitFor(() => expect(answers).toHaveLength(refused.length), { timeout: 60_000 })
  for (let round = 0; round < 5; round += 1) {
    expect((await create(process, wire)).status).toBe(201)
    expect((await process.call('/ready')).json).toHaveProperty('database', true)
  }
  expect(calls).toHaveBeenCalledTimes(16)
  expect(answers).toEqual(refused)
  release()
  await Promise.all(hung)
  expect(answers.slice(refused.length)).toEqual(Array.from({ length: 16 + 64 }, () => '201 undefined null'))
}, 60_000)

it('a brand that is rejected while the rail is asked is not shown to other banks', async () => {
  const brandId = await patient.createAccount(token)
  const { calls, release } = hang('validate')
  const creating = patient.call(`/accounts/${accountId}/transfers`, {
    ...{ token, key: crypto.randomUUID() },
    body: {
      amount: { value: '10', currency: 'USD' },
      source: debit(),
      destination: { address_id: walletId, value_type: 'USDC', transfer_type: 'base' },
      brand: { account_id: brandId },
    },
  })
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(1), { timeout: 60_000 })
  await inTransaction(service.context, (tx) => setAccountStatus(tx, service.context, brandId, 'rejected'))
  release()
  const { json } = await creating
  expect([json['code'], json['errors']]).toMatchObject([
    'account_not_ready',
    [{ source: { pointer: '/brand/account_id' } }],
  ])
  const { rows } = await inspect(pool).query(`select from ${service.context.schema}.transfer where account_id = $1`, [
    accountId,
  ])
  expect(rows).toEqual([])
})
