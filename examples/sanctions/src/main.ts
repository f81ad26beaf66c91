/**
 * Pays four people, whom a worker compares with a list of sanctions first. `sanctions-list.ts` is the screener;
 * `docs/guides/screening.md` explains what it has to do.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, silentLogger, startPostgres, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { sanctionsList } from './sanctions-list.ts'

const payees = {
  ada: 'Ada Lovelace',
  ivan: 'Sidorov, Ivan',
  jose: 'Jose Alvarez',
  nobody: '',
} as const

await main()

async function main(): Promise<void> {
  await using running = new AsyncDisposableStack()
  const server = running.use(await startPostgres())
  const databaseUrl = await server.createDatabase()
  running.defer(() => server.dropDatabase(databaseUrl))
  const pool = new pg.Pool({ connectionString: databaseUrl })
  running.defer(() => pool.end())
  const folder = await mkdtemp(join(tmpdir(), 'sanctions-'))
  running.defer(() => rm(folder, { recursive: true }))
  const path = join(folder, 'list.tsv')
  await copyFile(new URL('list.tsv', import.meta.url), path)

  const driver = pgDriver(pool)
  const gateway = memoryGateway()
  const nameOf = async (addressId: string) => {
    const { rows } = await pool.query<{ name: string }>('select name from payee where address_id = $1', [addressId])
    return rows[0]?.name
  }
  const engine = running.use(
    createEngine({
      backend: postgres({ driver, logger: silentLogger }),
      gateway,
      screen: sanctionsList({ path, olderThanMs: 86_400_000, nameOf }),
    }),
  )
  await engine.migrate()
  await pool.query('create table payee (address_id text primary key, name text not null)')
  for (const [id, name] of Object.entries(payees)) await pool.query('insert into payee values ($1, $2)', [id, name])
  await driver.transaction((tx) =>
    engine.policies.set(tx, [{ name: 'sanctions', screen: 'every payee is compared with the list' }], {
      actor: 'compliance',
      reason: 'the law asks for it',
    }),
  )
  await engine.start()

  const ids: Record<string, string> = {}
  for (const payee of Object.keys(payees)) {
    const { id } = await driver.transaction((tx) =>
      engine.transfers.enqueue(tx, {
        accountId: 'acme',
        createdBy: 'payroll',
        amount: { value: '100.00', currency: 'USD' },
        source: { addressId: 'operating', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: payee, valueType: 'USD', transferType: 'ach_credit' },
      }),
    )
    ids[payee] = id
  }
  const answerOf = async (payee: string) => (await engine.transfers.holds(ids[payee] ?? ''))?.screenings?.at(-1)
  for (const payee of Object.keys(payees)) {
    const answer = await waitUntil(() => answerOf(payee))
    console.log(
      `${payee}: ${answer.result}${answer.case === undefined ? '' : `, case ${answer.case}`} (${answer.note})`,
    )
  }

  // Somebody has decided about the case: another person of that name.
  await driver.transaction((tx) =>
    engine.transfers.answerScreening(tx, ids['jose'] ?? '', {
      ...{ result: 'pass', case: 'L-3', actor: 'clara', reason: 'born in another year' },
    }),
  )
  await waitUntil(async () => gateway.submissions.length === 2)
  const paid = gateway.submissions.map(({ request }) => request.destination.addressId).sort()
  console.log(`paid: ${paid.join(', ')}`)
}
