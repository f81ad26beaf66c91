/**
 * Where the time of an enqueue, of a dispatch and of a create at the service goes: in the server by statement, those within
 * functions included, and for the first two in this process by package. Run it after a build.
 */
import { type Profiler, Session } from 'node:inspector/promises'
import type { Client } from 'pg'
import { pgLibrary } from './contenders/host-library.ts'
import { openHttpContender } from './contenders/http-contender.ts'
import { openOutlayDrain } from './contenders/outlay-drain.ts'
import { openOutlayEnqueue } from './contenders/outlay-enqueue.ts'
import { openServiceStage } from './contenders/service-stage.ts'
import { describeMachine } from './machine.ts'
import { table } from './report.ts'
import { describeRows, measureRows } from './rows-of-a-create.ts'
import { openServer } from './server.ts'
import { createContender } from './workloads/service-requests.ts'

const clients = 16
const enqueueMs = 5_000
const backlog = 20_000
const mostRows = 40

const seen = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_planning': 'on',
}

/** Self time by package of a profile, in microseconds, longest first; what Node itself spends is under `node` and `(…)`. */
function byPackage({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): readonly (readonly [string, number])[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, packageOf(callFrame)]))
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '?'
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0))
  }
  times.delete('(idle)')
  return [...times].sort(([, a], [, b]) => b - a)
}

function packageOf({ url, functionName }: Profiler.Profile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName.startsWith('(') ? functionName : `node: ${functionName}`
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/')
  const installed = url.split('/node_modules/').at(-1) ?? ''
  if (installed !== url)
    return installed
      .split('/')
      .slice(0, installed.startsWith('@') ? 2 : 1)
      .join('/')
  return /\/(packages\/[^/]+|bench)\//.exec(url)?.[1] ?? url
}

interface StatementTime {
  readonly text: string
  readonly outside: boolean
  readonly calls: number
  readonly us: number
  readonly plan_us: number
}

async function readStatements(admin: Client): Promise<readonly StatementTime[]> {
  const { rows } = await admin.query<StatementTime>(
    `select regexp_replace(query, '\\s+', ' ', 'g') as text, toplevel as outside, calls::float8 as calls,
       (total_exec_time + total_plan_time) * 1000 as us, total_plan_time * 1000 as plan_us
     from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) and calls > 0
     order by total_exec_time + total_plan_time desc limit $1`,
    [mostRows],
  )
  return rows
}

/** Profiles this process while it does `work`. */
async function profileHere<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly profile: Profiler.Profile }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
  const result = await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return { result, profile }
}

/** Prints the time of `work` by part; `work` returns its count of operations. `isHere` when this process is the measured client. */
async function profile(name: string, admin: Client, work: () => Promise<number>, isHere = true): Promise<void> {
  await admin.query('create extension if not exists pg_stat_statements')
  await admin.query('select pg_stat_statements_reset()')
  const { result: count, profile: own } = await profileHere(work)
  const each = (us: number) => (us / count).toFixed(1)
  const here = byPackage(own)
    .slice(0, mostRows)
    .map(([what, us]) => [what, each(us)])
  const there = (await readStatements(admin)).map(({ text, outside, calls, us, plan_us }) => [
    `${outside ? '' : '↳ '}${text.slice(0, 100).replaceAll('|', '\\|')}`,
    (calls / count).toFixed(3),
    each(us),
    each(plan_us),
  ])
  const lines = [
    `## ${name}`,
    '',
    `${count} of them. Microseconds for each.`,
    '',
    ...(isHere ? [...table(['in this process', 'µs'], here), ''] : []),
    ...table(['statement (↳ within a function, whose time includes it)', 'calls', 'µs', 'of it planning'], there),
    '',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

async function profileEnqueue(serverUrl: string): Promise<void> {
  const host = await openOutlayEnqueue(serverUrl, clients, pgLibrary)
  let next = 1
  const transactFor = async (ms: number) => {
    const first = next
    const endsAt = performance.now() + ms
    const client = async () => {
      while (performance.now() < endsAt) await host.transact(next++, false)
    }
    await Promise.all(Array.from({ length: clients }, client))
    return next - first
  }
  await transactFor(1_000)
  await profile(`enqueue, ${clients} clients`, host.database.admin, () => transactFor(enqueueMs))
  await host.close()
}

async function profileDispatch(serverUrl: string): Promise<void> {
  const drainer = await openOutlayDrain(serverUrl, 100)
  for (const count of [backlog / 10, backlog]) {
    await drainer.fill(count)
    await drainer.database.admin.query('vacuum analyze')
    if (count === backlog) await profile('dispatch, 100 under way', drainer.database.admin, drainer.drain)
    else await drainer.drain()
    await drainer.countDone()
  }
  await drainer.close()
}

async function profileCreate(serverUrl: string): Promise<void> {
  const stage = await openServiceStage(serverUrl, { template: 'bench_profile', accountCount: 20, transfersEach: 30 })
  const { template, encryptionKey } = stage
  const options = { name: 'profiled', kind: 'service', hasEngine: true, connections: clients } as const
  const http = await openHttpContender(serverUrl, { ...options, template, encryptionKey })
  const contender = createContender(http, stage, { next: stage.transferIds.length })
  await contender.round(12)
  const work = async () => (await contender.round(enqueueMs / 1_000)).operations
  await profile(`create at the service and all that follows, ${clients} clients`, http.database.admin, work, false)
  await http.close()
  await stage.close()
}

/** What the rows of a create cost by themselves; nobody works meanwhile. */
async function profileRows(serverUrl: string): Promise<void> {
  const stage = await openServiceStage(serverUrl, { template: 'bench_rows', accountCount: 20, transfersEach: 30 })
  const { template, encryptionKey } = stage
  const options = { name: 'rows', kind: 'service', hasEngine: false, connections: clients } as const
  const http = await openHttpContender(serverUrl, { ...options, template, encryptionKey })
  await createContender(http, stage, { next: stage.transferIds.length }).round(1)
  const { rows, bare } = await measureRows(http.database.admin)
  process.stdout.write(`${describeRows(rows, bare)}\n`)
  await http.close()
  await stage.close()
}

const server = await openServer(undefined, seen)
for (const line of [...describeMachine(), ...server.description]) process.stdout.write(`- ${line}\n`)
process.stdout.write('\nCounting statements and sampling the process cost time themselves; compare the shares.\n\n')
await profileEnqueue(server.url)
await profileDispatch(server.url)
await profileCreate(server.url)
await profileRows(server.url)
await server.close()
