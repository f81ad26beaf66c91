import { testDatabase } from '@outlay/testing/vitest'
import { Client } from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { signInClient } from '../../test/client-caller.ts'
import { testSandbox } from '../../test/sandbox.ts'
import { beginAs } from '../database/tenant.ts'

const database = await testDatabase({ role: 'ordinary' })

it('deposits of one client that wait for a lock leave half of the connections to others', async () => {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1' }]
  const api = await testSandbox(database.url, funds, { poolSize: 4 })
  onTestFinished(() => api.stop())
  const other = await signInClient(api.sandbox, { name: 'Other', accounts: [{ businessName: 'Other' }] })
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query(beginAs('system'))
  const { schema } = api.sandbox.service.context
  await holder.query(`select from ${schema}.ledger_account where address_id = $1 for update`, [api.walletId])
  const body = {
    ...{ account_id: api.accountId, address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
    amount: '1',
  }
  const deposits = Array.from({ length: 8 }, () => api.call('POST', '/simulations/deposits', { body }))
  const locked = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  await vi.waitFor(async () => expect((await holder.query(locked)).rowCount).toBe(2), { timeout: 60_000 })
  const read = other.caller()
  const path = `/accounts/${other.seeded.accounts[0]?.accountId}`
  for (let count = 0; count < 10; count += 1) expect((await read(path)).status).toBe(200)
  expect((await holder.query(locked)).rowCount).toBe(2)
  await holder.query('rollback')
  expect(new Set((await Promise.all(deposits)).map(({ status }) => status))).toEqual(new Set([201]))
})
