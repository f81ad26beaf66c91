import process from 'node:process'
import { crashPoints } from '@outlay/testing'
import { fromEnvironment, openHost } from './host.ts'

/** A worker process, which stands still at the crash point that its environment names, until somebody kills it. */
const host = openHost(fromEnvironment(process.env), {}, crashPoints(process.env))
await host.engine.start()
process.once('SIGTERM', () => {
  void host.close().then(() => process.exit(0))
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
