/** The programs of a deployment, in one file: node main.mjs <command>. */
import { migratePayroll, migrateService, payday, register } from './jobs.ts'
import { runUntilStopped } from './process.ts'
import { startService } from './service.ts'
import type { StartOptions } from './start.ts'
import { startWorker } from './worker.ts'

const { env } = process
const say = (fields: object) => process.stdout.write(`${JSON.stringify(fields)}\n`)

const onFailure: StartOptions['onFailure'] = (failure) =>
  say({ message: 'It does not start, and tries again: see whether its database is there.', ...failure })

const commands: Readonly<Record<string, () => Promise<void>>> = {
  worker: () =>
    runUntilStopped(async (signal) => {
      const running = await startWorker(env, { signal, onFailure })
      say({ message: signal.aborted ? 'The worker was stopped.' : 'The worker runs.', probes: running.probes })
      return running
    }),
  service: () =>
    runUntilStopped(async (signal) => {
      const { url, ...running } = await startService(env, { signal, onFailure })
      say({
        message: signal.aborted ? 'The service was stopped.' : 'The service listens.',
        url,
        probes: running.probes,
      })
      return running
    }),
  'migrate-payroll': () => migratePayroll(env),
  'migrate-service': () => migrateService(env),
  async register() {
    say({ message: (await register(env)) ? 'A client is registered.' : 'There is a client already.' })
  },
  async payday() {
    say({ message: 'The payroll is final.', ...(await payday(env)) })
  },
}

const name = process.argv[2] ?? ''
const command = Object.hasOwn(commands, name) ? commands[name] : undefined
try {
  if (command === undefined) throw new Error(`A command is one of ${Object.keys(commands).join(', ')}; got "${name}".`)
  await command()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
