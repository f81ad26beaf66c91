import { randomBytes } from 'node:crypto'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sampleBankAddress, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { createService } from '../service.ts'
import { transfersRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
const pool = new Pool({ connectionString: database.url, max: 10 })
afterAll(() => pool.end())
const logger = recordingLogger()
const service = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32), logger })
const api = testService({ ...service.context }, [transfersRoutes])
const { engine } = service.context
beforeAll(() => service.migrate())

/** Creates an account of a client of its own, with a transfer from its bank account. */
async function createTransfer() {
  const { token } = await api.signIn({ environment: 'mainnet' })
  const accountId = await api.createAccount(token)
  const path = `/accounts/${accountId}`
  const listed = await api.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    `${path}/addresses?type=internal`,
    { token },
  )
  const wallet = listed.json.addresses.find(({ transfer_types: types }) => types.includes('base'))
  const post = async (to: string, body: unknown) =>
    (await api.call<{ id: string }>(`${path}${to}`, { token, key: crypto.randomUUID(), body })).json.id
  const bankId = await post('/addresses/external', { ...sampleBankAddress, transfer_types: ['ach_debit'] })
  const id = await post('/transfers', {
    amount: { value: '10', currency: 'USD' },
    source: { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: { address_id: wallet?.id, value_type: 'USDC', transfer_type: 'base' },
  })
  return { id, bankId }
}

it('a transfer whose account number cannot be opened waits by itself, and those of others are sent', async () => {
  const [broken, ...others] = [await createTransfer(), await createTransfer(), await createTransfer()]
  const setNumber = (sealed: unknown) =>
    inspect(pool).query(
      `update outlay_service.address a set bank_account_number = $2 from outlay_service.address b
        where a.id = $1 and b.id = a.id returning b.bank_account_number as before`,
      [broken.bankId, sealed],
    )
  const { before } = (await setNumber('v1.lost.AAAA.AAAA')).rows[0]
  await service.start()
  onTestFinished(() => service.stop())
  const remoteIdOf = async (id: string) => (await engine.transfers.get(id))?.remoteId ?? undefined
  for (const { id } of others) expect(await waitUntil(() => remoteIdOf(id))).toEqual(expect.any(String))
  const attemptsOf = async (id: string) =>
    await inspect(pool).query('select outcome, detail from outlay_service_engine.attempt where transfer_id = $1', [id])
  for (const { id } of others) expect((await attemptsOf(id)).rows).toMatchObject([{ outcome: 'accepted' }])
  const reason = await waitUntil(async () => (await engine.transfers.get(broken.id))?.reason ?? undefined)
  expect(reason).toBe('rate_limited')
  expect((await attemptsOf(broken.id)).rows).toEqual([
    { outcome: 'throttled', detail: expect.stringMatching('^not sent: .*keys') },
  ])
  const warned = logger.entries.filter(({ message }) => message.includes('encryptionKey'))
  expect(warned).toMatchObject([{ level: 'warn', fields: { transferId: broken.id } }])
  await setNumber(before)
  await inTransaction({ pool }, (tx) => engine.transfers.release(tx, broken.id))
  expect(await waitUntil(() => remoteIdOf(broken.id))).toEqual(expect.any(String))
})
