import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import type { DepositFact } from '../rails/port.ts'
import type { AutomationResource } from './automations.ts'
import { applyDeposit } from './deposits.ts'

const database = await testDatabase({ role: 'ordinary' })
/** One connection, so that a deposit that held one would stop everything. */
const pool = new Pool({ connectionString: database.url, max: 1 })
let api: TestSandbox
let automations: TestAutomations
let automation: AutomationResource
beforeAll(async () => {
  api = await testSandbox(database.url)
  automations = testAutomations(api)
  automation = await automations.open()
})
afterAll(async () => {
  await pool.end()
  await api.stop()
})

const factOf = (reference: string): DepositFact => ({
  reference,
  transferType: 'wire',
  routingNumber: automation.source.funding_instructions?.routing_number ?? '',
  accountNumber: automations.accountNumberOf(automation),
  amount: { value: '75.00', currency: 'USD' },
  details: { imad: reference },
})
const countRows = async (table: string) =>
  Number(
    (await inspect(pool).query(`select count(*) from ${api.sandbox.service.context.schema}.${table}`)).rows[0].count,
  )
const everything = async () => [await countRows('automation_deposit'), await countRows('transfer')]

/** A process whose rails hang in `validate` until they are released. */
function hangingProcess(railTimeoutMs: number) {
  const released = Promise.withResolvers<undefined>()
  onTestFinished(() => released.resolve(undefined))
  const calls = vi.fn(() => released.promise)
  const { context } = api.sandbox.service
  const hanging: ServiceContext = { ...context, pool, railTimeoutMs, rails: { ...context.rails, validate: calls } }
  return { context: hanging, calls, release: () => released.resolve(undefined) }
}

it('deposits whose rail hangs hold no connection, and are credited when it answers', async () => {
  const { context, calls, release } = hangingProcess(60_000)
  const [deposits = 0, transfers = 0] = await everything()
  const applied = ['1', '2', '3', '3'].map((number) => applyDeposit(context, factOf(`20261101OUTL000091000${number}`)))
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(4), { timeout: 60_000 })
  expect(pool.idleCount).toBe(pool.totalCount)
  expect(await everything()).toEqual([deposits, transfers])
  release()
  const verdicts = await Promise.all(applied)
  expect(verdicts.map(({ outcome }) => outcome)).toEqual(['credited', 'credited', 'credited', 'credited'])
  expect(verdicts[3]).toEqual(verdicts[2])
  expect(await everything()).toEqual([deposits + 3, transfers + 3])
})

it('a deposit whose rail does not answer is neither credited nor returned, and is accepted later', async () => {
  const before = await everything()
  const { context, release } = hangingProcess(50)
  const fact = factOf('20261101OUTL0000920001')
  await expect(applyDeposit(context, fact)).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(await everything()).toEqual(before)
  release()
  expect(await applyDeposit(context, fact)).toMatchObject({ outcome: 'credited' })
})

it('a deposit to an automation that is disabled while the rail validates is returned', async () => {
  const { context, calls, release } = hangingProcess(60_000)
  const applied = applyDeposit(context, factOf('20261101OUTL0000930001'))
  await vi.waitFor(() => expect(calls).toHaveBeenCalled(), { timeout: 60_000 })
  await automations.change(automation.id, { status: 'disabled' })
  release()
  expect(await applied).toEqual({ outcome: 'returned', reason: 'automation_disabled' })
  await automations.change(automation.id, { status: 'active' })
})

it('a deposit to an automation that gets another destination while the rail validates goes there', async () => {
  const { context, calls, release } = hangingProcess(60_000)
  const applied = applyDeposit(context, factOf('20261101OUTL0000950001'))
  await vi.waitFor(() => expect(calls).toHaveBeenCalled(), { timeout: 60_000 })
  const other = await automations.addWallet('0x52908400098527886E0F7030069857D2E4169EE7')
  expect((await automations.change(automation.id, { address_id: other })).status).toBe(200)
  release()
  const verdict = await applied
  const { transferId } = verdict as { readonly transferId: string }
  const [transfer] = (await automations.transfers(`automation_id=${automation.id}`)).filter(
    ({ id }) => id === transferId,
  )
  expect(transfer?.destination.address_id).toBe(other)
  await automations.change(automation.id, { address_id: api.walletId })
})

it('a deposit to an account that is closed while the rail validates is not accepted, and is returned later', async () => {
  const { context, calls, release } = hangingProcess(60_000)
  const before = await everything()
  const fact = factOf('20261101OUTL0000940001')
  const applied = applyDeposit(context, fact)
  await vi.waitFor(() => expect(calls).toHaveBeenCalled(), { timeout: 60_000 })
  const setStatus = (status: 'complete' | 'rejected') =>
    inTransaction(context, (tx) => setAccountStatus(tx, context, api.accountId, status))
  await setStatus('rejected')
  release()
  await expect(applied).rejects.toMatchObject({ code: '40001' })
  expect(await everything()).toEqual(before)
  expect(await applyDeposit(context, fact)).toEqual({ outcome: 'returned', reason: 'account_not_ready' })
  await setStatus('complete')
})
