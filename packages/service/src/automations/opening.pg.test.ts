import { Id } from '@outlay/core'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import type { Rails } from '../rails/port.ts'
import { startAutomationOpening } from './opening.ts'

const { pool } = await serviceDatabase()

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
  const insert = (accountId: string, count: number, openAt: Date) =>
    inspect(pool).query(
      `insert into ${testSchema}.automation
         (id, account_id, environment, name, status, source_value_type, destination_address_id, destination_value_type,
          destination_transfer_type, beneficiary_name, beneficiary_address, financial_institution_id, open_at, created_at, updated_at)
       select $2 || n, $1, 'testnet', 'Many', 'pending', 'USD', 'a', 'USDC', 'sepolia', 'Acme', '1 Main St', $2 || n, $3, $3, $3
         from generate_series(1, $4::int) n`,
      [accountId, Id.generate(context.clock, context.random), openAt, count],
    )
  await insert(busy, 1_200, new Date(now - 60_000))
  await insert(theirs, 1, new Date(now - 1_000))
  const opening = startAutomationOpening(context, { pollIntervalMs: 5 })
  await reached.promise
  const before = opened.indexOf(theirs)
  await opening.stop()
  // The front is full of the other client's automations twice, and each round opens fifty.
  expect(before).toBeLessThanOrEqual(150)
})
