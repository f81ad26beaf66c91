import { setTimeout } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import type { PlayerStep } from '../plan/players.ts'
import { makeSupervisionDue, storedJobTable } from '../queue.ts'
import type { Worker } from '../workers/worker.ts'
import type { WorkerNode } from '../workers/worker-connections.ts'
import type { Run } from './run-state.ts'

type MaintainStep = Extract<PlayerStep, { readonly do: 'maintain' }>

/** Names of the tables that somebody may lock for maintenance, as text of SQL. */
const nameOf = {
  jobs: storedJobTable,
  transfers: `'outlay.transfer'`,
  deliveries: `'outlay.delivery'`,
} as const satisfies Record<MaintainStep['table'], string>

/** Somebody locks a table for a while, as a migration or a REINDEX does. Statements of workers fail during that time, also those on timers. */
export async function maintain(at: Run, step: MaintainStep): Promise<string> {
  // A host with an open transaction defers such work.
  if (at.holds.size > 0) return 'transactions are open'
  const living = [...at.workers.values()].filter(({ faultSchedule }) => !faultSchedule.isDead)
  const worker = living[step.worker % Math.max(1, living.length)]
  let going: Promise<string> | undefined
  await whileLocked(at, step.table, async () => {
    if (worker !== undefined) going = superviseAndGoOn(at, worker)
    await setTimeout(step.forMs)
  })
  return (await going) ?? 'nobody works'
}

/** Does something while a table is locked. */
async function whileLocked(at: Run, table: MaintainStep['table'], run: () => Promise<void>): Promise<void> {
  const client = await at.environment.nodes[0].holders.connect()
  const onError = () => undefined
  client.on('error', onError)
  try {
    // The timers of the worker are due by then.
    await client.query(makeSupervisionDue)
    const { rows } = await client.query<{ readonly name: string }>(`select ${nameOf[table]} as name`)
    await client.query(`begin; set local lock_timeout = '500ms'; lock table ${rows[0]?.name} in access exclusive mode`)
    await run()
  } finally {
    await client.query('rollback').catch(onError)
    client.off('error', onError)
    client.release()
  }
}

/** The host goes on with its own work all the time, also right after a statement of the engine has failed. */
async function superviseAndGoOn(at: Run, worker: Worker): Promise<string> {
  const supervised = await worker.supervise().then(
    () => 'supervised',
    (error: Error) => `not supervised: ${error.message}`,
  )
  return `${supervised}; the pool of the host: ${await useOwnPool(at, worker)}`
}

/** Most connections of the pool of a worker that a host is given at once. */
const atOnce = 4

/** How long a host waits for a connection of its pool before it gives up, in milliseconds; the engine may use them all. */
const patienceMs = 500

/** What a host's statement found of others on its connection. */
interface Found {
  readonly alone: boolean
  readonly lock_timeout: string
  readonly leftover: number
}

/** A host does things of its own on the pool that it shares with the engine, and notes where the engine is in the way. */
export async function useOwnPool(at: Pick<Run, 'mistakes'>, { nodes, faultSchedule }: Worker): Promise<string> {
  if (faultSchedule.isDead) return 'it is dead'
  const settled = await Promise.all(
    nodes.flatMap((node) =>
      Array.from({ length: Math.min(atOnce, node.pool.options.max ?? atOnce) }, () => doOwnThing(node)),
    ),
  )
  const wrong = settled.filter((one) => one !== undefined)
  for (const detail of new Set(wrong)) at.mistakes.push({ invariant: 'host_pool_is_clean', detail })
  return wrong.length === 0 ? 'well' : wrong.join('; ')
}

/** Writes and reads something on one connection; answers with what is wrong. */
async function doOwnThing({ pool, host: beside }: WorkerNode): Promise<string | undefined> {
  const client = await connect(pool)
  if (client === undefined) return undefined
  const onError = () => undefined
  client.on('error', onError)
  let broken: Error | undefined
  try {
    const { rows } = await client.query<Found>(
      `select now() = statement_timestamp() as alone, current_setting('lock_timeout') as lock_timeout,
         (select count(*)::integer from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as leftover`,
    )
    const { rows: written } = await client.query<{ readonly id: string }>(
      'insert into own_row default values returning id',
    )
    const { rowCount } = await beside.query('select from own_row where id = $1', [written[0]?.id])
    const [found] = rows
    if (found?.alone !== true || rowCount !== 1)
      return 'a statement of a host is in a transaction that it did not begin'
    if (found.lock_timeout !== '0' || found.leftover > 0)
      return `a connection of a host has lock_timeout ${found.lock_timeout} and ${found.leftover} advisory locks of others`
    return undefined
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error))
    // Other failures are those of a worker that is killed, or of a server that restarts.
    return 'code' in broken && /^25/.test(String(broken.code))
      ? `a statement of a host fails: ${broken.message}`
      : undefined
  } finally {
    client.off('error', onError)
    // Nobody repairs the connection here: what the engine has left would stay on it.
    client.release(broken !== undefined && !('code' in broken))
  }
}

async function connect(pool: Pool): Promise<PoolClient | undefined> {
  const connecting = pool.connect().catch(() => undefined)
  const client = await Promise.race([connecting, setTimeout(patienceMs, undefined)])
  if (client === undefined) void connecting.then((late) => late?.release())
  return client
}
