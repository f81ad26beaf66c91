/** Moves accounts from node to node without end, one after the other. What another process left half done, it goes on with in time. */
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { seededRandom } from '@outlay/testing'
import { fromEnvironment } from '../site/settings.ts'
import { nodeNames, openSystem, type SystemSettings } from './system.ts'

/** Pause between two moves, in milliseconds. */
const pauseMs = 200

const settings = fromEnvironment<SystemSettings>(process.env)
const { fraction } = seededRandom(settings.seed + process.pid)
const system = openSystem(settings, 4)
const pick = <T>(from: readonly T[]): T => from[Math.floor(fraction() * from.length)] as T
let isStopping = false

process.once('SIGTERM', () => {
  isStopping = true
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
while (!isStopping) {
  const { accountId } = pick(settings.customers)
  const to = pick(nodeNames)
  try {
    const { result, pauseMs: heldMs } = await system.shards.accounts.move(accountId, { to })
    if (result === 'moved') process.send?.({ moved: accountId, to, heldMs })
  } catch (error) {
    // Refused, as while a node does not answer; anything else is a fault of ours, and ends this process.
    if (!OutlayError.is(error)) throw error
  }
  await delay(pauseMs)
}
await system[Symbol.asyncDispose]()
process.exit(0)
