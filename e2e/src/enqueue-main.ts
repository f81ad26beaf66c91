import process from 'node:process'
import type { EnqueueRequest } from '@outlay/core'
import { fromEnvironment, openHost } from './host.ts'

/** A host that enqueues one transfer, commits, says so, and stands still until somebody kills it. It runs no workers. */
const request = JSON.parse(process.env['REQUEST'] ?? '') as EnqueueRequest
const host = openHost(fromEnvironment(process.env))
const transfer = await host.transaction((tx) => host.engine.transfers.enqueue(tx, request))
process.stdout.write(`${JSON.stringify({ ready: true, transferId: transfer.id })}\n`)
setInterval(() => undefined, 1_000)
