import { applyMigrations, engineMigrations, pgDriver, postgres } from '@outlay/adapters-pg'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateHost } from './host.ts'
import { readFunctions } from './migration-files.ts'
import { readQueueTokens } from './queue.ts'
import { openStageHost, type Stage, seedClient, setStage, settleAll, startService } from './stage.ts'

/** The last migration of the code that left the rows of this test behind. */
const earlier = '0001_baseline'

/** A transfer as earlier code has left it. The service already has `sent` ones, under the key of their row. */
interface Leftover {
  readonly name: string
  readonly sent: boolean
  /** The columns that earlier code wrote. */
  readonly row: string
  /** Attempts in the log, the last one with this outcome; null without an answer. */
  readonly attempts: readonly (string | null)[]
}

const leftovers: readonly Leftover[] = [
  { name: 'queued', sent: false, row: '', attempts: [] },
  { name: 'refused', sent: false, row: `attempt = 1, reason = 'unauthenticated'`, attempts: ['unauthorized'] },
  {
    name: 'unknown',
    sent: true,
    row: `attempt = 2, reason = 'outcome_unknown', unknown_since = now() - interval '1 hour'`,
    attempts: ['unknown', 'unknown'],
  },
  {
    name: 'submitting',
    sent: true,
    row: `stage = 'submitting', attempt = 1, updated_at = now() - interval '1 hour'`,
    attempts: [null],
  },
  {
    name: 'poor',
    sent: false,
    row: `stage = 'awaiting_funds', attempt = 1, reason = 'insufficient_balance'`,
    attempts: ['insufficient_balance'],
  },
  {
    name: 'submitted',
    sent: true,
    row: `stage = 'submitted', attempt = 1, remote_id = $2, next_poll_at = now()`,
    attempts: ['accepted'],
  },
  {
    name: 'blocked',
    sent: true,
    row: `stage = 'blocked', attempt = 9, reason = 'outcome_unknown', unknown_since = now() - interval '25 hours'`,
    attempts: ['unknown'],
  },
  {
    name: 'settled',
    sent: true,
    row: `stage = 'settled', status = 'complete', attempt = 1, remote_id = $2`,
    attempts: ['accepted'],
  },
]

describe('an upgrade of the engine', { timeout: 300_000 }, async () => {
  const databases = await testDatabase()
  const heads = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })
  const sandbox = await startService(services.url)
  afterAll(() => sandbox.stop())

  it(`from ${earlier}, with a transfer in every stage, settles each of them once`, async () => {
    const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
    await goBack(databases.url, earlier)
    await fill(databases.url, heads.url, stage)

    const host = openStageHost(stage, databases.url, sandbox.url, { jitter: 0.05 })
    await expect(host.engine.start()).rejects.toMatchObject({ code: 'not_migrated' })
    await host.engine.migrate()
    // The events of this one were delivered long ago.
    await host.pool.query(
      `insert into effect select id, 'transfer.completed' from outlay.transfer where stage = 'settled'`,
    )
    const find = async (key: string) => (await host.engine.transfers.getByKey(stage.accountId, key))?.id ?? ''
    await host.engine.start()
    await host.transaction((tx) => host.engine.accounts.fundsArrived(tx, stage.accountId))
    expect(await host.engine.transfers.get(await find('blocked'))).toMatchObject({ stage: 'blocked', attempt: 9 })
    await host.transaction(async (tx) => host.engine.transfers.release(tx, await find('blocked')))
    await host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout({ idempotencyKey: 'new' })))
    // The same request under a key from before is the transfer from before.
    const again = await host.transaction((tx) =>
      host.engine.transfers.enqueue(tx, stage.payout({ idempotencyKey: 'submitted' })),
    )
    expect(again).toMatchObject({ id: await find('submitted'), reused: true })

    const { host: stored, service, effects } = await settleAll(stage, host, 150_000)
    expect(stored).toHaveLength(leftovers.length + 1)
    expect(new Set(stored.map(({ status }) => status))).toEqual(new Set(['complete']))
    expect(service.map(({ id }) => id).sort()).toEqual(stored.map(({ remoteId }) => remoteId).sort())
    expect(effects.map(({ transfer_id }) => transfer_id)).toEqual(stored.map(({ id }) => id))
    expect(Number(await stage.balance())).toBe(1_000_000 - 12.5 * stored.length)
    await waitUntil(async () => (await host.engine.backlog()).deadLetters === 0)
    await host.close()
    await stage.client.close()
  })
})

describe('after an upgrade of the engine', async () => {
  const databases = [[earlier, await testDatabase()]] as const
  const heads = await testDatabase({ key: 'host', prepare: migrateHost })

  it.each(databases)('from %s no function of earlier code is left', async (last, { url }) => {
    await goBack(url, last)
    const pool = new pg.Pool({ connectionString: url })
    await postgres({ driver: pgDriver(pool) }).migrate()
    await pool.end()
    expect(await readSignatures(url)).toEqual(await readSignatures(heads.url))
  })

  it('decisions of earlier code are never written', async () => {
    const client = new pg.Client(heads.url)
    await client.connect()
    await expect(client.query(`select * from outlay.settle('[]')`)).rejects.toMatchObject({ code: '42883' })
    await expect(client.query(`select * from outlay.settle('[]', 1)`)).rejects.toThrow('of other code')
    expect((await client.query(`select * from outlay.settle('[]', 2)`)).rows).toEqual([])
    await client.end()
  })
})

/** Every function of the engine's schema: its name, its arguments and its result. */
async function readSignatures(url: string): Promise<readonly string[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ signature: string }>(
      `select format('%s(%s) %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) as signature
       from pg_proc p where p.pronamespace = 'outlay'::regnamespace order by 1`,
    )
    return rows.map(({ signature }) => signature)
  } finally {
    await client.end()
  }
}

/** Makes the schema of the earlier code, with functions that do nothing. */
async function goBack(url: string, last: string): Promise<void> {
  await migrateHost(url)
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('drop schema outlay cascade')
    const migrations = engineMigrations.filter(({ name, repeatable }) => !repeatable && name <= last)
    const tokens = { ...(await readQueueTokens(client)), channel: 'outlay_wake' }
    await applyMigrations(client, { schema: 'outlay', migrations, tokens })
    await client.query(await readFunctions(last))
  } finally {
    await client.end()
  }
}

/** Writes earlier rows: today's rows as far as the earlier schema has their columns, set to each stage by hand. */
async function fill(url: string, headUrl: string, stage: Stage): Promise<void> {
  const head = openStageHost(stage, headUrl, 'http://127.0.0.1:1')
  const old = new pg.Client(url)
  await old.connect()
  try {
    for (const { name, sent, row, attempts } of leftovers) {
      const payout = stage.payout({ idempotencyKey: name })
      const { id } = await head.transaction((tx) => head.engine.transfers.enqueue(tx, payout))
      const remote = sent
        ? await stage.client.transfers.create(stage.accountId, stage.request(), { idempotencyKey: name })
        : { id: null }
      await copy(head.pool, old, 'transfer', id)
      await old.query(
        `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt)
         values ($1, 1, 'transfer.enqueued', 'queued', 'pending', 0)`,
        [id],
      )
      if (row !== '') {
        await old.query(`update outlay.transfer set ${row} where id = $1`, row.includes('$2') ? [id, remote.id] : [id])
      }
      for (const [index, outcome] of attempts.entries()) {
        await old.query(
          `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at, answered_at, outcome)
           values ($1, $2, 'earlier', now() - interval '1 hour', case when $3::text is not null then now() end, $3)`,
          [id, index + 1, outcome],
        )
      }
    }
    await old.query(`insert into outlay.subscription (name, types) values ('effects', '{transfer.completed}')`)
  } finally {
    await old.end()
    await head.close()
  }
}

async function copy(from: pg.Pool, to: pg.Client, table: string, id: string): Promise<void> {
  const { rows: columns } = await to.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'outlay' and table_name = $1 and is_generated = 'NEVER'`,
    [table],
  )
  const names = columns.map(({ name }) => pg.escapeIdentifier(name)).join(', ')
  const { rows } = await from.query<{ all: string }>(
    `select to_jsonb(t)::text as all from outlay.${table} t where t.id = $1`,
    [id],
  )
  await to.query(
    `insert into outlay.${table} (${names}) select ${names} from jsonb_populate_record(null::outlay.${table}, $1::jsonb)`,
    [rows[0]?.all],
  )
}
