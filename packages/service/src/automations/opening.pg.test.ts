import { Id } from '@outlay/core'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import type { ServiceContext } from '../context.ts'
import type { Rails, VirtualAccountBank } from '../rails/port.ts'
import { startAutomationOpening } from './opening.ts'

const { pool } = await serviceDatabase()

beforeEach(() => inspect(pool).query(`update ${testSchema}.automation set open_at = null`))

/** Writes automations that are due. */
const insertDue = (context: ServiceContext, accountId: string, count: number, openAt: Date) =>
  inspect(pool).query(
    `insert into ${testSchema}.automation
       (id, account_id, environment, name, status, source_value_type, destination_address_id, destination_value_type,
        destination_transfer_type, beneficiary_name, beneficiary_address, financial_institution_id, open_at, created_at, updated_at)
     select $2 || n, $1, 'testnet', 'Many', 'pending', 'USD', 'a', 'USDC', 'sepolia', 'Acme', '1 Main St', $2 || n, $3, $3, $3
       from generate_series(1, $4::int) n`,
    [accountId, Id.generate(context.clock, context.random), openAt, count],
  )

it('an automation is opened in its turn, however many another client has in front of it', async () => {
  const opened: string[] = []
  const reached = Promise.withResolvers<void>()
  const open = async ({ accountId }: { readonly accountId: string }) => {
    opened.push(accountId)
    if (accountId === theirs) reached.resolve()
  }
  const context = testContext({ pool, rails: { virtualAccounts: { open } } as unknown as Rails })
  const service = testService(context)
  const accountOf = async () => await service.createAccount((await service.signIn()).token)
  const [busy, theirs] = [await accountOf(), await accountOf()]
  const now = context.clock.now().getTime()
  await insertDue(context, busy, 1_200, new Date(now - 60_000))
  await insertDue(context, theirs, 1, new Date(now - 1_000))
  const opening = startAutomationOpening(context, { pollIntervalMs: 5 })
  await reached.promise
  const before = opened.indexOf(theirs)
  await opening.stop()
  // The front is full of the other client's automations twice.
  expect(before).toBeLessThanOrEqual(150)
})

it('an order that hangs delays neither a later one nor those of others, and is interrupted by a stop', async () => {
  const orders: string[] = []
  const interrupted: boolean[] = []
  const never = new Promise<never>(() => undefined)
  const open: VirtualAccountBank['open'] = async ({ accountId }, { signal }) => {
    orders.push(accountId)
    if (accountId !== hanging) return
    signal.addEventListener('abort', () => interrupted.push(true))
    await never
  }
  const context = testContext({ pool, rails: { virtualAccounts: { open } } as unknown as Rails })
  const service = testService(context)
  const { token } = await service.signIn()
  const [hanging, own] = [await service.createAccount(token), await service.createAccount(token)]
  const other = await service.createAccount((await service.signIn()).token)
  const due = new Date(context.clock.now().getTime() - 1_000)
  await insertDue(context, hanging, 1, due)
  const opening = startAutomationOpening(context, { pollIntervalMs: 5 })
  onTestFinished(() => opening.stop())
  await vi.waitFor(() => expect(orders).toEqual([hanging]), { timeout: 60_000 })
  // Another process does not order it too.
  const beside = startAutomationOpening(context, { pollIntervalMs: 5 })
  for (const later of [own, other]) {
    await insertDue(context, later, 1, due)
    await vi.waitFor(() => expect(orders).toContain(later), { timeout: 60_000 })
  }
  await beside.stop()
  expect(orders).toHaveLength(3)
  await opening.stop()
  expect(interrupted).toEqual([true])
  const left = `select account_id from ${testSchema}.automation where open_at <= $1 and account_id = any ($2)`
  const { rows } = await inspect(pool).query(left, [context.clock.now(), [hanging, own, other]])
  expect(rows).toEqual([{ account_id: hanging }])
})

it('one client whose orders hang leaves places to the others', async () => {
  const orders: string[] = []
  const never = new Promise<never>(() => undefined)
  const open: VirtualAccountBank['open'] = async ({ accountId }) => {
    orders.push(accountId)
    if (accountId === hanging) await never
  }
  const context = testContext({ pool, rails: { virtualAccounts: { open } } as unknown as Rails })
  const service = testService(context)
  const hanging = await service.createAccount((await service.signIn()).token)
  const other = await service.createAccount((await service.signIn()).token)
  const now = context.clock.now().getTime()
  await insertDue(context, hanging, 600, new Date(now - 60_000))
  await insertDue(context, other, 100, new Date(now - 1_000))
  const opening = startAutomationOpening(context, { pollIntervalMs: 5 })
  onTestFinished(() => opening.stop())
  await vi.waitFor(() => expect(orders.filter((one) => one === other)).toHaveLength(50), { timeout: 60_000 })
  expect(orders.filter((one) => one === hanging)).toHaveLength(10)
})
