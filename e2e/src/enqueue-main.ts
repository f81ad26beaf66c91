import process from 'node:process'
import type { EnqueueRequest } from '@outlay/core'
import { crashPoints } from '@outlay/testing'
import { fromEnvironment, openHost } from './host.ts'

/** A host that enqueues one transfer on a message from its parent, and may be killed while it does. It runs no workers. */
const host = openHost(fromEnvironment(process.env), {}, crashPoints(process.env))
// The channel to the parent does not keep a process alive.
setInterval(() => undefined, 60_000)
process.once('message', (request: EnqueueRequest) => {
  void host.transaction((tx) => host.engine.transfers.enqueue(tx, request))
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
