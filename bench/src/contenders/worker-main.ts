/**
 * A worker as a separate process, with a gateway that answers after LATENCY_MS. Reads DATABASE_URL, CONCURRENCY and
 * LATENCY_MS; answers over HTTP with how many requests it has answered, and says the same when it ends.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { Pool } from 'pg'
import { requireEnv, serveProcess } from '../http-process.ts'
import { acceptingGateway } from './outlay-stage.ts'

const pool = new Pool({ connectionString: requireEnv('DATABASE_URL'), max: 10, idleTimeoutMillis: 0 })
const latencyMs = Number(requireEnv('LATENCY_MS'))
let handled = 0
const gateway = acceptingGateway(async () => {
  await sleep(latencyMs)
  handled += 1
})
const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway })
await serveProcess(
  pool,
  () => Response.json({ handled, residentBytes: process.memoryUsage.rss() }),
  async () => {
    await engine.stop()
    process.stdout.write(`${JSON.stringify({ handled })}\n`)
    await pool.end()
  },
)
await engine.start({ concurrency: Number(requireEnv('CONCURRENCY')) })
