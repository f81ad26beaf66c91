/** A host application that writes payouts, each with a row of its own in the same transaction. It runs no workers. */
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { memoryGateway, seededRandom } from '@outlay/testing'
import { Pool, type PoolClient } from 'pg'
import { askedOf } from '../judging/asked.ts'
import { payoutOf } from './customer.ts'
import { fromEnvironment, type WriterSettings } from './settings.ts'
import type { WriterReport } from './writer.ts'

/** Transactions that may be open at once. */
const mostOpen = 8

/** Pause between two reports, in milliseconds. */
const reportPauseMs = 200

const { databaseUrl, customers, seed, first, rate, isWild } = fromEnvironment<WriterSettings>(process.env)
const { fraction } = seededRandom(seed + first)
const pool = new Pool({ connectionString: databaseUrl, max: mostOpen, connectionTimeoutMillis: 10_000 })
pool.on('error', () => undefined)
const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })

let next = first
let report: { [Member in keyof WriterReport]: number[] } = { promised: [], withdrawn: [], unknown: [], tookMs: [] }

type Ending = 'commit' | 'rollback' | 'lose'

/** Writes some payouts in one transaction, ends it, and notes what is known of it. */
async function write(count: number, ending: Ending): Promise<void> {
  const numbers = Array.from({ length: count }, () => next++)
  const customer = customers[Math.floor(fraction() * customers.length)]
  if (customer === undefined) throw new Error('There are no customers.')
  const requests = numbers.map((number) => payoutOf(customer, number, 100 + Math.floor(fraction() * 4_900)))
  const began = performance.now()
  const client = await pool.connect().catch(() => undefined)
  if (client === undefined) return
  let isEnding = false
  try {
    await client.query('begin')
    const [only] = requests
    const transfers =
      requests.length === 1 && only !== undefined
        ? [await engine.transfers.enqueue(client, only)]
        : await engine.transfers.enqueueMany(client, requests)
    await client.query(
      `insert into payout (number, transfer_id, account_id, asked)
       select n, t, $3, a from unnest($1::integer[], $2::text[], $4::jsonb[]) as p (n, t, a)`,
      [
        numbers,
        transfers.map(({ id }) => id),
        customer.accountId,
        requests.map((request) => JSON.stringify(askedOf(request))),
      ],
    )
    isEnding = ending !== 'rollback'
    await end(client, ending)
    report[ending === 'rollback' ? 'withdrawn' : 'promised'].push(...numbers)
    if (ending === 'commit') report.tookMs.push(performance.now() - began)
    client.release(ending === 'lose')
  } catch {
    report[isEnding ? 'unknown' : 'withdrawn'].push(...numbers)
    client.release(true)
  }
}

/** Ends the transaction. `lose` sends the commit and dies before the answer. */
async function end(client: PoolClient, ending: Ending): Promise<void> {
  if (ending !== 'lose') {
    await client.query(ending)
    return
  }
  const committing = client.query('commit')
  setImmediate(() => (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy())
  await committing
}

function draw(): readonly [number, Ending] {
  if (!isWild) return [1, 'commit']
  const luck = fraction()
  const ending: Ending = luck < 0.1 ? 'rollback' : luck < 0.15 ? 'lose' : 'commit'
  return [fraction() < 0.15 ? 2 + Math.floor(fraction() * 7) : 1, ending]
}

async function sendReport(): Promise<void> {
  const sent = report
  report = { promised: [], withdrawn: [], unknown: [], tookMs: [] }
  await new Promise<void>((resolve) => process.send?.(sent, () => resolve()))
}

const open = new Set<Promise<void>>()
let isStopping = false
const reporting = setInterval(() => void sendReport(), reportPauseMs)

async function writeOn(): Promise<void> {
  const began = performance.now()
  for (let turn = 1; !isStopping; turn += 1) {
    if (open.size < mostOpen) {
      const writing: Promise<void> = write(...draw()).finally(() => open.delete(writing))
      open.add(writing)
    }
    await delay(Math.max(1, began + (turn * 1_000) / rate - performance.now()))
  }
}

process.once('SIGTERM', async () => {
  isStopping = true
  await Promise.all(open)
  clearInterval(reporting)
  await sendReport()
  await pool.end()
  process.exit(0)
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
await writeOn()
