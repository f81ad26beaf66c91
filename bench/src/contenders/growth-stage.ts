import { inspect, pgDriver } from '@outlay/adapters-pg'
import { fingerprint, Id } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, openOutlayStage } from './outlay-stage.ts'
import { countJobs, outboxTable } from './queue.ts'

/** A database with so many settled transfers. */
export interface GrowthStage extends EnqueueHost {
  /** Reads the n-th of the transfers to read; throws Error when it does not exist. */
  get(n: number): Promise<void>
  /** Reads the newest page of an account; throws Error when it is not full. */
  list(n: number): Promise<void>
  /** Enqueues so many; `begin` then submits them and returns how many it found. */
  fill(count: number): Promise<{ drain(): Promise<number>; end(): Promise<void> }>
}

/** Transfers that are read, the same in every database. */
const readable = 1_000

/** Number of the first transfer without a host row. */
const firstExtra = 1_000_000_000

const pageSize = 10

/** Rows of history that one statement writes. */
const chunk = 100_000

const dayMs = 86_400_000

/** Makes a database with that much history: settled transfers with three events and one attempt each, a year old. */
export async function openGrowthStage(serverUrl: string, history: number, clients: number): Promise<GrowthStage> {
  const name = history === 0 ? 'no history' : `${history.toLocaleString('en')} of history`
  const stage = await openOutlayStage(serverUrl, `bench_growth_${history}`, clients + 20)
  const { database, sender } = stage
  const { admin, count, pool } = database
  await createHostTable(admin)
  for (let from = 0; from < history; from += chunk) await writeHistory(admin, from, Math.min(history, from + chunk))
  await stage.fill(Array.from({ length: readable }, (_, n) => sampleTransfer(firstExtra + n)))
  const engine = stage.makeEngine(acceptingGateway(() => undefined))
  await engine.start()
  await waitUntil(async () => (await countJobs(stage.database)) === 0)
  await engine.stop()
  await admin.query('vacuum analyze')
  const inspection = inspect({ driver: pgDriver(pool) })
  const { rows } = await admin.query<{ id: string; account_id: string }>(
    `select id, account_id from outlay.transfer where idempotency_key like 'invoice-1_________' order by id`,
  )
  let others = history + readable
  const at = (n: number) => rows[n % rows.length] ?? { id: '', account_id: '' }
  return {
    name,
    database,
    transact: pgTransact(database, (client, n) => sender.transfers.enqueue(client, sampleTransfer(n))),
    countComplete: () =>
      count(`select count(*) from invoice i join outlay.transfer t on t.idempotency_key = 'invoice-' || i.id
        and t.account_id = '01K8ACCT00000000000000' || lpad((i.id % 50)::text, 3, '0')
        join ${outboxTable} o on o.id = outlay.job_id(t.id)`),
    countRest: async () => [
      (await count('select count(*) from outlay.transfer')) - others,
      await countJobs(stage.database),
    ],
    async get(n) {
      if ((await sender.transfers.get(at(n).id))?.id !== at(n).id) throw new Error(`${name}: ${at(n).id} is not there.`)
    },
    async list(n) {
      const page = await inspection.transfers({ accountId: at(n).account_id, limit: pageSize })
      if (page.length !== pageSize) throw new Error(`${name}: a page has ${page.length} transfers.`)
    },
    async fill(size) {
      await stage.fill(Array.from({ length: size }, (_, n) => sampleTransfer(firstExtra + others + n)))
      others += size
      const keys = new Set<string>()
      const worker = stage.makeEngine(acceptingGateway(({ idempotencyKey }) => void keys.add(idempotencyKey)))
      return {
        async drain() {
          await worker.start()
          await waitUntil(async () => keys.size >= size && (await countJobs(stage.database)) === 0, {
            timeoutMs: 600_000,
            describe: 'the backlog to be worked off',
          })
          return keys.size
        },
        end: () => worker.stop(),
      }
    },
    close: () => stage.close(),
  }
}

async function writeHistory(admin: Parameters<typeof createHostTable>[0], from: number, to: number): Promise<void> {
  const id = Id.lowest(new Date(Date.now() - 365 * dayMs)).slice(0, 10)
  const { accountId: _account, idempotencyKey: _key, ...request } = sampleTransfer(0)
  const values = [id, from, to - 1, fingerprint({})]
  await admin.query(
    `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, remote_id, attempt,
       event_sequence, polls, created_at, updated_at, reached_at)
     select $1 || lpad(n::text, 16, '0'), '01K8ACCT00000000000000' || lpad((n % 50)::text, 3, '0'), 'old-' || n, $4, $5,
       'settled', 'complete', $1 || lpad(n::text, 16, 'Z'), 1, 3, 2, now() - interval '365 days', now() - interval '364 days',
       now() - interval '364 days'
     from generate_series($2::int, $3::int) n`,
    [...values, JSON.stringify(request)],
  )
  await admin.query(
    `insert into outlay.event (transfer_id, sequence, type, stage, status, remote_id, attempt, occurred_at)
     select $1 || lpad(n::text, 16, '0'), e.sequence, e.type, e.stage, e.status,
       $1 || lpad(n::text, 16, 'Z'), 1, now() - interval '365 days'
     from generate_series($2::int, $3::int) n, (values (2, 'transfer.submitted', 'submitted', 'pending'), (3, 'transfer.completed', 'settled', 'complete'))
       e (sequence, type, stage, status)`,
    values.slice(0, 3),
  )
  await admin.query(
    `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at, answered_at, outcome, http_status, request_id)
     select $1 || lpad(n::text, 16, '0'), 1, 'worker:1:00000000', now() - interval '365 days', now() - interval '365 days',
       'accepted', 201, 'request-' || n
     from generate_series($2::int, $3::int) n`,
    values.slice(0, 3),
  )
}
