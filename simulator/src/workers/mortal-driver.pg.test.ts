import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, it } from 'vitest'
import { moments } from '../plan/plan.ts'
import { createFaultSchedule, mortalDriver } from './mortal-driver.ts'

const database = await testDatabase()
const pool = new Pool({ connectionString: database.url })
afterAll(() => pool.end())

it('reaches every moment that a plan may name, so that every planned fault occurs', async () => {
  const reached = new Set<string>()
  const faultSchedule = {
    ...createFaultSchedule(() => {}),
    reach: async (at: string, phase: string) => void reached.add(`${phase} ${at}`),
  }
  const driver = mortalDriver(pgDriver(pool), faultSchedule)
  const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
  await engine.migrate()
  engine.subscribe('all', ['transfer.enqueued'], async () => undefined)
  await engine.start()
  await driver.transaction(async (tx) => {
    // What an account may hold back is claimed by a statement of its own.
    await engine.accounts.configure(tx, 'account', { concurrency: 5 })
    await engine.transfers.enqueue(tx, {
      accountId: 'account',
      amount: { value: '1.00', currency: 'USDC' },
      source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: 'payee', valueType: 'USDC', transferType: 'base' },
    })
  })
  // The gateway is no statement, and has a wrapper of its own.
  const wanted = moments.filter((at) => at !== 'submit').flatMap((at) => [`before ${at}`, `after ${at}`])
  await waitUntil(() => wanted.every((one) => reached.has(one)))
  await engine.stop()
})
