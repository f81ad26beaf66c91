import process from 'node:process'
import type { Gateway } from '@outlay/core'
import { fromEnvironment, openHost } from './host.ts'

/** A worker process. With PAUSE_AT it says where it is and stands still there, until somebody kills it. */
const pauseAt = process.env['PAUSE_AT'] ?? ''

const standStill = async (at: string): Promise<void> => {
  process.send?.({ at })
  await new Promise(() => setInterval(() => undefined, 1_000))
}

const pausing = (gateway: Gateway): Gateway => ({
  ...gateway,
  async registerAddress(registration, options) {
    const result = await gateway.registerAddress?.(registration, options)
    if (result === undefined) throw new Error('The gateway registers no addresses.')
    if (pauseAt === 'registered' && result.outcome === 'accepted') await standStill(pauseAt)
    return result
  },
  async submit(submission, options) {
    if (pauseAt === 'claimed') await standStill(pauseAt)
    const result = await gateway.submit(submission, options)
    if (pauseAt === 'answered') await standStill(pauseAt)
    return result
  },
})

const host = openHost(fromEnvironment(process.env), pausing)
await host.engine.start()
process.once('SIGTERM', () => {
  void host.close().then(() => process.exit(0))
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
