import { setTimeout as sleep } from 'node:timers/promises'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createConsole } from '@outlay/console'
import { createEngine, type Gateway } from '@outlay/core'
import type { Client } from 'pg'
import { openDatabase } from './database.ts'
import { openServer } from './server.ts'
import { readServerTimeUs } from './server-time.ts'
import { quantile } from './spread.ts'

// How long each page's request to the console's API takes where there are many transfers. The first argument is how many of them, the second how many of those are
// stuck: waiting, held or blocked. The rows are written by SQL, as workers would leave them.
const transfers = Number(process.argv[2] ?? 1_000_000)
const stuck = Number(process.argv[3] ?? transfers / 10)
const runs = Number(process.env['OUTLAY_BENCH_RUNS'] ?? 20)
const slice = 50_000
const accounts = 2_000
const payees = 10_007

const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('Nothing is sent in this workload.')),
  get: () => Promise.resolve(undefined),
}

/** An id whose number is in the order of time, and a time in the last thirty days. */
const common = `'01K8' || lpad(n::text, 22, '0') as id, now() - ($3 - n) * (interval '30 days' / $3) as at, 'acct-' || (n % ${accounts}) as account_id`

const fillText = `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, reason, remote_id, attempt, gateway, created_at, updated_at)
  select c.id, c.account_id, 'invoice-' || c.n, md5(c.n::text), jsonb_build_object('amount', jsonb_build_object('value', (100 + c.n % 900) || '.25', 'currency', 'USD'),
      'source', jsonb_build_object('addressId', '01K8WALLET0000000000000000', 'valueType', 'USDC', 'transferType', 'base'),
      'destination', jsonb_build_object('addressId', '01K8BANK' || lpad((c.n % ${payees})::text, 18, '0'), 'valueType', 'USD', 'transferType', 'wire')),
    case when not c.is_stuck then 'settled' when c.n % 7 = 0 then 'blocked' when c.n % 7 = 1 then 'held' when c.n % 7 = 2 then 'awaiting_funds' else 'queued' end,
    case when c.is_stuck then 'pending' when c.n % 50 = 0 then 'failed' else 'complete' end,
    case when not c.is_stuck then null when c.n % 7 = 1 then case when c.n % 2 = 0 then 'approval' else 'operator' end when c.n % 7 = 0 then 'outcome_unknown' when c.n % 7 = 2 then 'insufficient_balance' when c.n % 7 = 3 then 'unreachable' else 'account_paused' end,
    case when not c.is_stuck then 'remote-' || c.n end, 1, 'default', c.at, c.at
  from (select n, ${common}, n % $4 = 0 as is_stuck from generate_series($1::bigint, $2::bigint) n) c`

const eventsText = `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt, occurred_at)
  select c.id, s.sequence, s.type, s.stage, s.status, 1, c.at + s.sequence * interval '1 second'
  from (select n, ${common}, n % $4 = 0 as is_stuck from generate_series($1::bigint, $2::bigint) n) c
  cross join (values (2, 'transfer.submitted', 'submitted', 'pending'), (3, 'transfer.completed', 'settled', 'complete')) s (sequence, type, stage, status)
  where not c.is_stuck`

const metadataText = `insert into outlay.transfer_metadata (transfer_id, name, value)
  select c.id, 'order', c.n::text from (select n, ${common}, $4::bigint from generate_series($1::bigint, $2::bigint) n) c where c.n % 10 = 0`

const jobsText = `select outlay.queue_put_many(array_agg(outlay.job_id(t.id)), array_agg(t.account_id), array_agg(now() + interval '1 hour'), now())
  from outlay.transfer t where t.remote_id is null and t.stage in ('queued', 'awaiting_funds')`

const holdsText = `insert into outlay.hold (transfer_id, name, policy, why, actor, requirement)
  select t.id, t.reason, case t.reason when 'approval' then 'large' else '' end, 'it is odd', case t.reason when 'operator' then 'ada' end,
    case t.reason when 'approval' then '{"steps": [{"count": 2}], "inOrder": false}'::jsonb end
  from outlay.transfer t where t.remote_id is null and t.stage = 'held'`

async function fill(admin: Client): Promise<void> {
  const every = Math.max(1, Math.round(transfers / stuck))
  for (let at = 1; at <= transfers; at += slice) {
    const values = [at, Math.min(transfers, at + slice - 1), transfers, every]
    for (const text of [fillText, eventsText, metadataText]) await admin.query(text, values)
  }
  await admin.query(jobsText)
  await admin.query(holdsText)
  await admin.query('vacuum analyze')
}

const server = await openServer(process.env['OUTLAY_BENCH_DATABASE_URL'])
const database = await openDatabase(server.url, 'bench_console', 8)
const driver = pgDriver(database.pool)
const engine = createEngine({ backend: postgres({ driver }), gateway: closedGateway })
await engine.migrate()
const from = performance.now()
await fill(database.admin)
console.error(`filled in ${Math.round((performance.now() - from) / 1_000)} s`)

/** Time of counting what one day of it holds, as a worker does. */
const [begunAt, countedParts] = [performance.now(), 288]
for (let part = 0; part < countedParts; part += 1)
  await database.admin.query(
    `select outlay.count_part(date_trunc('day', now() - interval '2 days', 'UTC') + $1 * interval '5 minutes')`,
    [part],
  )
const countedMs = performance.now() - begunAt

const admin = createConsole({
  ...{ engine, driver, authorize: () => ({ actor: 'ada', permissions: { read: 'all' } }) },
  rateLimit: { perSecond: 10_000, burst: 10_000 },
})
const payeeOf = (n: number) => `01K8BANK${String(n).padStart(18, '0')}`
const middle = `01K8${String(Math.floor(transfers / 2)).padStart(22, '0')}`
const yesterday = new Date(Date.now() - 86_400_000).toISOString()
const waiting = await database.admin.query(
  `select id from outlay.transfer where remote_id is null and stage = 'queued' order by id limit 1 offset 100`,
)
const lines = [
  ...[
    '/transfers',
    '/transfers?stage=queued',
    '/transfers?stage=held',
    '/transfers?status=failed',
    '/transfers?accountId=acct-7',
    '/transfers?accountId=acct-7&stage=blocked',
  ],
  ...[
    '/transfers?metadata[order]=5000',
    '/transfers?currency=EUR',
    '/transfers?reason=unreachable',
    '/transfers?amount=500.25',
    '/transfers?amount=500.26',
    '/transfers?amount=500.25&accountId=acct-400',
    `/transfers?payee=${payeeOf(7)}`,
    '/transfers?payee=nobody',
    `/transfers?payee=${payeeOf(7)}&stage=queued`,
    '/approvals',
    '/approvals?accountId=acct-10',
    `/transfers?cursor=${middle}`,
  ],
  ...[
    `/transfers?createdAfter=${encodeURIComponent(yesterday)}`,
    '/transfers/by-key?accountId=acct-10&idempotencyKey=invoice-10',
  ],
  ...[
    '/transfers/by-remote-id?remoteId=remote-7',
    '/transfers/with-key?idempotencyKey=key-7',
    '/transfers/stuck',
    '/transfers/stuck?accountId=acct-10',
    '/transfers/totals?accountId=acct-7',
  ],
  ...[`/transfers/${middle}`, `/transfers/${waiting.rows[0]?.id}`, `/transfers/${middle}/proof`],
  ...[
    '/accounts',
    '/accounts/acct-7',
    '/batches',
    '/backlog',
    '/doctor',
    '/gateways',
    '/sending',
    '/stats',
    '/policies',
    '/limits',
    '/limits/uses',
    '/audit',
    '/subscriptions',
  ],
]
/** Asks as a page does: again, while a figure is being counted. */
async function ask(line: string, times: number[]) {
  const from = performance.now()
  for (;;) {
    const at = performance.now()
    const answer = await admin.fetch(new Request(`http://localhost/api${line}`))
    await answer.text()
    times.push(performance.now() - at)
    const again = Number(answer.headers.get('retry-after') ?? 0)
    if (answer.status !== 503 || again === 0) return { status: answer.status, ms: performance.now() - from }
    await sleep(again * 1_000)
  }
}

const results = []
for (const line of lines) {
  const times: number[] = []
  const first = await ask(line, times)
  for (let run = 1; run < runs; run += 1) await ask(line, times)
  const shown = {
    line: line.slice(0, 60),
    status: first.status,
    /** Until the first answer that is no request to ask again. */
    thereMs: Math.round(first.ms),
    p50Ms: Math.round(quantile(times, 0.5)),
    p95Ms: Math.round(quantile(times, 0.95)),
    longestMs: Math.round(Math.max(...times)),
  }
  results.push(shown)
  console.error(JSON.stringify(shown))
}
/** What an open overview asks in a minute; for its doctor only every tenth time. */
const asked = ['/backlog', '/gateways', '/sending', `/stats?step=hour&from=${encodeURIComponent(yesterday)}`]
const minutes = 50
const usedBefore = await readServerTimeUs(database.admin)
for (let minute = 0; minute < minutes; minute += 1)
  for (const line of minute % 10 === 0 ? [...asked, '/doctor'] : asked) await ask(line, [])
const usedAfter = await readServerTimeUs(database.admin)
const overviewMs = usedBefore === null || usedAfter === null ? null : (usedAfter - usedBefore) / 1_000 / minutes
console.log(
  JSON.stringify(
    {
      date: new Date().toISOString(),
      server: server.description,
      transfers,
      stuck,
      runs,
      countedMsPerPart: countedMs / countedParts,
      countedUsPerTransfer: (countedMs * 1_000) / (transfers / 30),
      /** Of the server's processor, for each minute that an overview is open. */
      overviewMs,
      results,
    },
    null,
    2,
  ),
)
await database.close()
await server.close()
