import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { startSandbox } from '@outlay/service/sandbox'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool, type PoolClient } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateHost } from '../environment/host-database.ts'
import { bugs, plantInDatabase } from './bugs.ts'

const [hosts, services] = [await testDatabase(), await testDatabase()]
const [host, service] = [hosts, services].map(({ url }) => new Pool({ connectionString: url })) as [Pool, Pool]
afterAll(() => Promise.all([host.end(), service.end()]))

describe('a mistake that is planted', async () => {
  await migrateHost(host)
  const sandbox = await startSandbox({ databaseUrl: services.url })
  await sandbox.stop()

  /** What is changed is as it was afterwards. */
  async function planting(name: string): Promise<void> {
    const clients = { host: await host.connect(), service: await service.connect() }
    const all: readonly PoolClient[] = Object.values(clients)
    try {
      for (const client of all) await client.query('begin')
      const bug = bugs.find((one) => one.name === name)
      if (bug !== undefined) await plantInDatabase(bug, clients)
    } finally {
      for (const client of all) {
        await client.query('rollback')
        client.release()
      }
    }
  }

  it.each(bugs.filter(({ sql }) => sql !== undefined).map(({ name }) => name))(
    'finds what it changes in the functions of the databases: %s',
    async (name) => {
      await expect(planting(name)).resolves.toBeUndefined()
    },
  )

  it('finds the statements that it matches', async () => {
    const wanted = bugs.flatMap(({ statements = {} }) => Object.entries(statements))
    const missed = new Set(wanted)
    const note = (name: string, values: readonly unknown[]) => {
      for (const one of wanted) if (name.endsWith(one[0]) && one[1].test(JSON.stringify(values))) missed.delete(one)
    }
    const own = pgDriver(host)
    const driver: typeof own = {
      ...own,
      query: (statement, values) => {
        note(statement.name, values)
        return own.query(statement, values)
      },
      execute: (tx, statement, values) => {
        note(statement.name, values)
        return own.execute(tx, statement, values)
      },
    }
    const gateway = { ...memoryGateway(), submit: async () => ({ outcome: 'odd' }) as never }
    const engine = createEngine({ backend: postgres({ driver }), gateway })
    engine.subscribe('everything', ['transfer.enqueued'], async () => undefined)
    await engine.start()
    await driver.transaction((tx) =>
      engine.transfers.enqueue(tx, {
        accountId: 'account',
        amount: { value: '1.00', currency: 'USDC' },
        source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: 'payee', valueType: 'USDC', transferType: 'base' },
      }),
    )
    await waitUntil(() => missed.size === 0, { describe: `${[...missed].map(([name]) => name).join(', ')}` })
    await engine.stop()
  })
})
