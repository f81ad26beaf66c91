import { setTimeout as delay } from 'node:timers/promises'
import { startPostgres } from '@outlay/testing'
import { type ExampleSandbox, openSandbox } from './sandbox.ts'

/** The environment of an example. */
export interface ExampleContext {
  /** Database of the example. */
  readonly databaseUrl: string
  readonly sandbox: ExampleSandbox
  /** Resources that are disposed with the example, last in, first out. */
  readonly running: AsyncDisposableStack
}

/**
 * Runs an example until Ctrl-C, with PostgreSQL, the service, and its clock, which advances by an hour per second. A wire then
 * takes two seconds.
 */
export async function runExample(start: (context: ExampleContext) => Promise<void>): Promise<void> {
  const interruption = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interruption.abort())

  await using running = new AsyncDisposableStack()
  const postgres = running.use(await startPostgres())
  const sandbox = running.use(await openSandbox(await postgres.createDatabase()))
  await start({ databaseUrl: await postgres.createDatabase(), sandbox, running })
  while (!interruption.signal.aborted) {
    await delay(1_000, undefined, { signal: interruption.signal }).catch(() => undefined)
    await sandbox.pass(1)
  }
}
