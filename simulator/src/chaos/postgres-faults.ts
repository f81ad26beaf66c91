import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import { Client } from 'pg'
import { storedJobTable } from '../queue.ts'
import type { Site } from '../site/site.ts'

/** Ends every session of the site's programs three times in a row, a moment apart; returns how many. */
export async function terminateSessions(site: Site): Promise<number> {
  let terminated = 0
  for (let round = 0; round < 3; round += 1) {
    terminated += await terminateAll(site)
    await delay(150)
  }
  return terminated
}

/** Opens every connection that the server has, those of the site's programs too, for some milliseconds; returns how many. */
export async function exhaustConnections(site: Site, ms: number): Promise<number> {
  const taken: Client[] = []
  const until = performance.now() + ms
  try {
    while (performance.now() < until) {
      await openAll(site, taken)
      // A connection that is freed now goes to another process, or this opens it in the next round.
      await terminateAll(site)
      await openAll(site, taken)
      await delay(50)
    }
    return taken.length
  } finally {
    await Promise.all(taken.map((client) => client.end().catch(() => undefined)))
  }
}

/** Connections that are opened at once. */
const atOnce = 16

/** Opens connections until the server has none left. */
async function openAll(site: Site, taken: Client[]): Promise<void> {
  for (;;) {
    const opened = await Promise.all(Array.from({ length: atOnce }, () => openOne(site)))
    const open = opened.filter((client) => client !== undefined)
    taken.push(...open)
    if (open.length < atOnce) return
  }
}

async function openOne(site: Site): Promise<Client | undefined> {
  const client = new Client({ connectionString: site.postgres.url, application_name: 'hoarder' })
  client.on('error', () => undefined)
  return client.connect().then(
    () => client,
    () => undefined,
  )
}

async function terminateAll({ host }: Site): Promise<number> {
  const { rows } = await host
    .query<{ readonly count: number }>(
      `select count(pg_terminate_backend(pid))::integer as count from pg_stat_activity
       where application_name ~ '^(worker-|writer-|service$)'`,
    )
    .catch(() => ({ rows: [] }))
  return rows[0]?.count ?? 0
}

/** Tables that maintenance may lock, by what they are for. */
const maintained: Readonly<Record<string, string>> = {
  transfers: `select 'outlay.transfer' as name`,
  deliveries: `select 'outlay.delivery' as name`,
  jobs: `select ${storedJobTable} as name`,
}

/**
 * Locks one of the engine's tables wholly for some milliseconds, as a REINDEX or a migration of the host does; says which. A fault that
 * comes at the same time may end its session, and the lock with it.
 */
export async function lockTables(site: Site, ms: number, fraction: () => number): Promise<string> {
  const [what, text] = Object.entries(maintained)[Math.floor(fraction() * 3)] ?? ['nothing', '']
  const client = await waitUntil(() => site.host.connect().catch(() => undefined), {
    timeoutMs: 60_000,
    describe: 'a connection for the lock',
  })
  const rollBack = () =>
    client.query('rollback').then(
      () => true,
      () => false,
    )
  const lock = async () => {
    const { rows } = await client.query<{ readonly name: string }>(text)
    // Everybody waits behind a session that waits for a lock on a table, so it gives up and retries.
    await client.query(`begin; set local lock_timeout = '250ms'; lock table ${rows[0]?.name} in access exclusive mode`)
  }
  let isOpen = true
  for (let isLocked = false; isOpen && !isLocked; ) {
    isLocked = await lock().then(
      () => true,
      () => false,
    )
    if (isLocked) await delay(ms)
    isOpen = await rollBack()
    if (!isLocked) await delay(100)
  }
  client.release(!isOpen)
  return `${what}, ${isOpen ? `${(ms / 1_000).toFixed(1)} s` : 'until its session was lost'}`
}
