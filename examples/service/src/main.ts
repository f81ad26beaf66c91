/**
 * The service as a command: starts it with simulated rails on the embedded PostgreSQL, seeds it once, and prints how to use
 * it. The data survive a restart.
 */
import { join, resolve } from 'node:path'
import { pinoLogger } from '@outlay/service/logging'
import { startSandbox } from '@outlay/service/sandbox'
import { readCatalog } from './catalog.ts'
import { provideCredentials } from './credentials.ts'
import { openDatabase } from './database.ts'
import { provideKey } from './encryption-key.ts'
import { writeGreeting } from './greeting.ts'
import { type Options, readOptions, usage } from './options.ts'

const keyWarning =
  'A key for encryption at rest was made. Who has it and the database reads bank accounts, tax ids and secrets of webhooks; without it nobody does. Back it up apart from the database.'

const interrupted = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    // The second signal ends the process at once. The database ends with it in any case.
    if (interrupted.signal.aborted) process.exit(130)
    interrupted.abort()
  })
}

try {
  const options = readOptions(process.argv.slice(2), {
    databaseUrl: process.env['DATABASE_URL'],
    encryptionKey: process.env['OUTLAY_ENCRYPTION_KEY'],
    repository: join(import.meta.dirname, '../../..'),
    uid: process.getuid?.(),
  })
  if (options === undefined) process.stdout.write(usage)
  else await run({ ...options, dataDir: resolve(options.dataDir) })
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exitCode = 1
}

async function run(options: Options): Promise<void> {
  await using running = new AsyncDisposableStack()
  // Before the database: whether its directory exists shows whether there are data from before.
  const key = await provideKey(options)
  const database = await openDatabase(options)
  running.defer(() => database.stop())
  const logger = pinoLogger({ level: options.logLevel, destination: process.stderr })
  if (key?.isNew === true) logger.warn({ path: key.path }, keyWarning)
  const { port, allowPrivateWebhooks, publicUrl, dialect, bankLinkAliases } = options
  let ownClient: string | undefined
  const sandbox = running.use(
    await startSandbox({
      databaseUrl: database.url,
      port,
      logger,
      allowPrivateWebhooks,
      publicUrl,
      dialect,
      bankLinkAliases,
      catalog: await readCatalog(options.catalogModule),
      // One clock moves the payments of all clients, so that only the client of this command moves it.
      mayMoveClock: (clientId) => clientId === ownClient,
      encryptionKey: key?.key,
    }),
  )
  const { credentials, isNew } = await provideCredentials(sandbox, options)
  ownClient = credentials.clientId
  process.stdout.write(writeGreeting(sandbox.url, credentials, { isNew, dataDir: options.dataDir }))
  if (!interrupted.signal.aborted)
    await new Promise((ended) => interrupted.signal.addEventListener('abort', ended, { once: true }))
  process.stdout.write('\nEnding what is in flight …\n')
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'EADDRINUSE') return 'The port is in use; choose another one with --port.'
  if (error.message.includes('postmaster.pid'))
    return 'Another process uses this data directory; end it, or choose one with --data-dir.'
  return error.message
}
