/**
 * The quickstart: three companies pay their people through a payouts service, while a worker dies and money runs out.
 * README.md says what it shows.
 */
import { parseArgs } from 'node:util'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import type { Engine } from '@outlay/core'
import { createClient } from '@outlay/http-client'
import { type Program, startPostgres } from '@outlay/testing'
import { type Database, migrateDatabase, openDatabase, type Transaction } from './database.ts'
import { createPayrollEngine, type ServiceAccess } from './engine.ts'
import { startService, startWorker } from './processes.ts'
import { createProgress } from './progress.ts'
import { printReport, readReport } from './report.ts'
import { openSandbox } from './sandbox.ts'
import { playStory } from './story.ts'

const { values } = parseArgs({
  options: { people: { type: 'string', default: '1000' }, keep: { type: 'boolean', default: false } },
})
const people = Number(values.people)
if (!Number.isInteger(people) || people < 10 || people > 10_000) throw new Error('--people must be 10 to 10000.')

const interruption = new AbortController()
const { signal } = interruption
let isEnding = false
let readServiceLog = () => ''
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // The second signal ends this process at once. The other processes and PostgreSQL end with it in any case.
    if (signal.aborted) process.exit(130)
    interruption.abort(`Interrupted by ${name}.`)
  })
}

try {
  await using running = new AsyncDisposableStack()
  try {
    process.exitCode = await run(running)
  } finally {
    isEnding = true
  }
} catch (error) {
  console.error(signal.aborted ? signal.reason : error)
  if (!signal.aborted) console.error(`The service wrote:\n${readServiceLog()}`)
  process.exitCode = signal.aborted ? 130 : 1
}

/** Starts everything, plays the story and checks the result. Returns the exit code. */
async function run(running: AsyncDisposableStack): Promise<number> {
  const progress = running.use(createProgress(people * 3))

  // The story has no power failure, so PostgreSQL need not wait for the disk.
  const postgres = running.use(await startPostgres({ durable: false }))
  const [hostUrl, serviceUrl] = [await postgres.createDatabase(), await postgres.createDatabase()]
  running.defer(() => postgres.dropDatabase(hostUrl))
  running.defer(() => postgres.dropDatabase(serviceUrl))
  signal.throwIfAborted()
  progress.say(`PostgreSQL ${postgres.version} runs, with one database for the application and one for the service`)

  const service = await startService(serviceUrl)
  endWith(running.use(service.program), 'The service')
  readServiceLog = () => service.program.stderr()
  const db = openDatabase(hostUrl)
  running.defer(() => db.$client.end())
  const engine = running.use(createPayrollEngine(db, service))
  await migrateDatabase(db)
  await engine.migrate()

  const victim = running.use(await startWorker(hostUrl, service))
  endWith(running.use(await startWorker(hostUrl, service)), 'A worker')
  signal.throwIfAborted()
  progress.say(`the service listens on ${service.baseUrl}; two workers run`)

  const local = values.keep ? await openConsole(db, engine) : undefined
  if (local !== undefined) {
    running.defer(local.close)
    progress.say(`the console shows all of it; open it once: ${local.loginUrl}`)
  }

  const client = running.use(createClient({ baseUrl: service.baseUrl, credentials: service.credentials }))
  const sandbox = await openSandbox(service)
  const { accountId } = service
  const plan = await playStory({ db, engine, client, sandbox, victim, progress, people, accountId, signal })

  const wrong = printReport(await readReport({ ...plan, hostUrl, serviceUrl }))
  for (const { what, value, expected } of wrong) console.error(`"${what.trim()}" is ${value}, should be ${expected}`)
  if (values.keep) await keepRunning({ hostUrl, serviceUrl, service, consoleUrl: local?.url })
  return wrong.length === 0 ? 0 : 1
}

/** Serves the console of the application's database. It is loaded for those who stay, and acts as whoever opens its link. */
async function openConsole(db: Database, engine: Engine<Transaction>) {
  const { serveLocally } = await import('@outlay/console')
  return serveLocally({ engine, driver: drizzleDriver(db), actor: 'you', acts: true })
}

/** Ends the run when this process ends before it should. */
function endWith(program: Program, name: string): void {
  void program.ended.then(() => {
    if (!isEnding) interruption.abort(`${name} ended unexpectedly.\n${program.stderr()}`)
  })
}

/** Prints how to inspect the databases, and waits for Ctrl-C. */
async function keepRunning({
  hostUrl,
  serviceUrl,
  service,
  consoleUrl,
}: {
  readonly hostUrl: string
  readonly serviceUrl: string
  readonly service: ServiceAccess
  readonly consoleUrl: string | undefined
}): Promise<void> {
  console.log(`
Everything keeps running until you press Ctrl-C.

  console        ${consoleUrl}
  service        ${service.baseUrl}
  client id      ${service.credentials.clientId}
  client secret  ${service.credentials.clientSecret}
  application    psql ${hostUrl}
  service        psql ${serviceUrl}
`)
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
