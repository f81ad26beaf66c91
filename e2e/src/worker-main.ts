import process from 'node:process'
import { crashPoints } from '@outlay/testing'
import { fromEnvironment, openHost } from './host.ts'

/** A worker process that waits at the crash point in its environment until it is killed. */
const host = openHost(fromEnvironment(process.env), {}, crashPoints(process.env))
await host.engine.start()
process.once('SIGTERM', () => {
  void host.close().then(() => process.exit(0))
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
