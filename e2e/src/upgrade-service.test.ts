import { applyMigrations } from '@outlay/adapters-pg'
import { createClient } from '@outlay/http-client'
import { serviceMigrations } from '@outlay/service'
import { type SeededClient, startSandbox } from '@outlay/service/sandbox'
import { usBankAccount, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { copyRows, describeTables, serviceSchema } from './rows.ts'
import { type Stage, seedClient, setStage } from './stage.ts'

describe('an upgrade of the service', { timeout: 300_000 }, async () => {
  const databases = await testDatabase()
  const all = serviceMigrations
  const migrations = all.filter(({ repeatable }) => !repeatable)
  // Functions of triggers exist before all tables.
  const before = all.slice(
    0,
    all.findIndex(({ repeatable }) => !repeatable),
  )
  const seeded = await fill(databases.url)
  const head = new pg.Client(databases.url)
  await head.connect()
  const tables = await describeTables(head)
  const transfers = Number((await head.query(`select count(*) from ${serviceSchema}.transfer`)).rows[0].count)
  await head.end()

  it('has something to upgrade', () => {
    expect(transfers).toBe(2)
    expect(migrations.length).toBeGreaterThan(1)
  })

  it.concurrent.for(migrations.slice(0, -1).map(({ name }) => name))(
    'from %s, with data in place, keeps them and works',
    async (number) => {
      const url = await databases.another()
      const client = new pg.Client(url)
      await client.connect()
      const upTo = [...before, ...migrations.filter(({ name }) => name <= number)]
      await applyMigrations(client, { schema: serviceSchema, migrations: upTo })
      const copied = await copyRows(databases.url, client)
      await client.end()

      await using sandbox = await startSandbox({ databaseUrl: url, poolSize: 5 })
      const after = new pg.Client(url)
      await after.connect()
      expect(await describeTables(after)).toEqual(tables)
      await after.end()
      if (copied.includes('account')) expect(await readBack(sandbox.url, seeded, copied)).toEqual([])

      const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
      const { id } = await stage.client.transfers.create(stage.accountId, stage.request())
      await complete(stage, id)
      expect(await stage.balance()).toBe('999987.50')
      await stage.client.close()
    },
  )

  /** The copied rows that the seeded client cannot see. */
  async function readBack(baseUrl: string, credentials: SeededClient, copied: readonly string[]) {
    await using client = createClient({ baseUrl, credentials })
    const missing: string[] = []
    const [account] = credentials.accounts
    const accountId = account?.accountId ?? ''
    if ((await client.accounts.get(accountId))?.id !== accountId) missing.push('account')
    const addresses = await client.addresses.list(accountId)
    if (copied.includes('address') && addresses.items.length < 2) missing.push('address')
    if (copied.includes('transfer') && (await client.transfers.list(accountId)).items.length !== transfers) {
      missing.push('transfer')
    }
    return missing
  }
})

/** A service with a client, its account, a counterparty, one payout that is complete and one that is on its way. */
async function fill(databaseUrl: string): Promise<SeededClient> {
  await using sandbox = await startSandbox({ databaseUrl })
  const seeded = await sandbox.seedClient(seedClient)
  const stage = await setStage(sandbox.url, seeded)
  const { id: bank } = await stage.client.addresses.createExternal(stage.accountId, usBankAccount)
  const { id } = await stage.client.transfers.create(stage.accountId, stage.request())
  await complete(stage, id)
  const destination = { addressId: bank, valueType: 'USD', transferType: 'ach_credit' }
  await stage.client.transfers.create(
    stage.accountId,
    stage.request({ amount: { value: '20.00', currency: 'USD' }, destination }),
  )
  await stage.client.close()
  return seeded
}

/** Lets the service's time run until a transfer is complete. */
async function complete(stage: Stage, id: string): Promise<void> {
  await waitUntil(
    async () => {
      await stage.advance(60)
      return (await stage.client.transfers.get(stage.accountId, id))?.status === 'complete'
    },
    { timeoutMs: 120_000, describe: 'the payout to be complete' },
  )
}
