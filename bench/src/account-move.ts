import { directory, pgDriver, type Shards, shards } from '@outlay/adapters-pg'
import type { Gateway } from '@outlay/core'
import { Pool, type PoolClient } from 'pg'
import { openDatabase } from './database.ts'
import { sampleTransfer } from './sample-transfer.ts'
import { openServer } from './server.ts'
import { summarize } from './spread.ts'

// A move of one account with many open payouts between two databases: how long it is paused, how long each step takes, and what another account of the node
// that it leaves has of it meanwhile. The arguments are the numbers of open payouts and of ended ones.
const open = Number(process.argv[2] ?? 100_000)
const ended = Number(process.argv[3] ?? 0)
const count = open + ended
const slice = 5_000
const [moved, other] = ['01K8ACCT0000000000000MOVED', '01K8ACCT0000000000000OTHER']

const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('Nothing is sent in this workload.')),
  get: () => Promise.resolve(undefined),
}

type Host = Shards<PoolClient>

async function fill(host: Host): Promise<void> {
  for (let at = 0; at < count; at += slice) {
    const requests = Array.from({ length: Math.min(slice, count - at) }, (_, n) => ({
      ...sampleTransfer(at + n),
      accountId: moved,
      metadata: { invoice: String(at + n) },
    }))
    await host.transaction(moved, (tx) => host.transfers.enqueueMany(tx, requests))
  }
}

/** Ends the first payouts as a worker does: with an attempt and two events more. */
async function endFirst(pool: Pool): Promise<void> {
  if (ended === 0) return
  await pool.query(
    `create temporary table ending as select t.id from outlay.transfer t where t.account_id = '${moved}' order by t.id limit ${ended};
     delete from outlay.outbox o using ending e where o.id = outlay.job_id(e.id);
     insert into outlay.attempt (transfer_id, attempt, worker, answered_at, outcome, remote_id)
     select e.id, 1, 'bench', clock_timestamp(), 'accepted', 'remote-' || e.id from ending e;
     insert into outlay.event (transfer_id, sequence, type, stage, status, attempt, remote_id)
     select e.id, s.sequence, s.type, s.stage, s.status, 1, 'remote-' || e.id
     from ending e cross join (values (2, 'transfer.submitted', 'submitted', 'processing'), (3, 'transfer.completed', 'settled', 'complete'))
       as s (sequence, type, stage, status);
     update outlay.transfer t set stage = 'settled', status = 'complete', attempt = 1, event_sequence = 3, remote_id = 'remote-' || t.id
     from ending e where t.id = e.id`,
  )
  await pool.query('vacuum analyze outlay.transfer, outlay.event, outlay.attempt')
}

/** Enqueues for the other account, one after the other, until it is stopped; gives the times of each in milliseconds. */
function enqueueOthers(host: Host) {
  const times: number[] = []
  let isOver = false
  const loop = async () => {
    for (let n = 0; !isOver; n += 1) {
      const from = performance.now()
      const request = { ...sampleTransfer(n), accountId: other, idempotencyKey: `other-${from}-${n}` }
      await host.transaction(other, (tx) => host.transfers.enqueue(tx, request))
      times.push(performance.now() - from)
    }
  }
  const ended = loop()
  return async () => {
    isOver = true
    await ended
    return summarize(times)
  }
}

const server = await openServer(process.env['OUTLAY_BENCH_DATABASE_URL'])
const [east, west] = [
  await openDatabase(server.url, 'bench_move_east', 8),
  await openDatabase(server.url, 'bench_move_west', 8),
]
const pool = new Pool({ connectionString: east.url, max: 4 })
const route = directory({ pool })
await route.migrate()
const host: Host = shards({
  nodes: { east: { driver: pgDriver(east.pool) }, west: { driver: pgDriver(west.pool) } },
  ...{ route, engine: { gateway: closedGateway } },
})
await host.migrate()
for (const account of [moved, other]) await route.assign(account, 'east')
await fill(host)
await endFirst(east.pool)
const quiet = enqueueOthers(host)
await new Promise((resolve) => setTimeout(resolve, 5_000))
const before = await quiet()

const busy = enqueueOthers(host)
const steps = new Map<string, number>()
let [last, peakRss] = [performance.now(), 0]
const result = await host.accounts.move(moved, {
  to: 'west',
  onProgress({ step }) {
    steps.set(step, (steps.get(step) ?? 0) + performance.now() - last)
    last = performance.now()
    peakRss = Math.max(peakRss, process.memoryUsage.rss())
  },
})
const during = await busy()
const arrived = await west.count(
  'select count(*) from outlay.transfer t join outlay.outbox o on o.id = outlay.job_id(t.id)',
)
const lines = [...steps].map(([step, ms]) => `  ${step.padEnd(10)} ${(ms / 1000).toFixed(1)} s`)
process.stdout.write(
  `${result.transfers} transfers ${result.result}, ${arrived} of them wait on the other node
paused for ${(result.pauseMs / 1000).toFixed(1)} s, ${(result.totalMs / 1000).toFixed(1)} s in all; RSS at most ${Math.round(peakRss / 2 ** 20)} MB
${lines.join('\n')}
an enqueue of another account: ${before.median.toFixed(2)} ms before, at most ${before.max.toFixed(0)}; ${during.median.toFixed(2)} ms meanwhile, at most ${during.max.toFixed(0)}
`,
)
await route.close()
await pool.end()
await Promise.all([east.close(), west.close()])
await server.close()
