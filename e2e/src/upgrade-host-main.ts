import process from 'node:process'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type EnqueueRequest, type Observation, type SubmitResult } from '@outlay/core'
import pg from 'pg'

/*
 * A host that runs on the code of any release: it is copied beside that code, and imports nothing else. It migrates when
 * MIGRATE is set, starts its workers, and enqueues what its parent sends it. Its events are rows, so that their order shows.
 */
const { DATABASE_URL: databaseUrl, SERVICE_URL: serviceUrl = '', HOST_NAME: hostName } = process.env
const pool = new pg.Pool({ connectionString: databaseUrl })
const driver = pgDriver(pool)

const call = async <T>(path: string, init: RequestInit): Promise<T> =>
  (await (await fetch(`${serviceUrl}${path}`, init)).json()) as T

const engine = createEngine({
  backend: postgres({ driver }),
  gateway: {
    submit: (submission, { signal }) =>
      call<SubmitResult>('/transfers', { method: 'POST', body: JSON.stringify(submission), signal }).catch(
        (error): SubmitResult => ({ outcome: 'unknown', detail: String(error) }),
      ),
    get: (_accountId, remoteId, { signal }) => call<Observation>(`/transfers/${remoteId}`, { signal }),
  },
  follow: { maxDelayMs: 200 },
})
engine.subscribe(
  'events',
  [
    'transfer.enqueued',
    'transfer.submitted',
    'transfer.processing',
    'transfer.awaiting_funds',
    'transfer.blocked',
    'transfer.released',
    'transfer.completed',
    'transfer.failed',
    'transfer.canceled',
  ],
  async (event, tx) => {
    const values = [event.transferId, event.sequence, event.type, hostName]
    await tx.query('insert into told (transfer_id, sequence, type, host) values ($1, $2, $3, $4)', values)
  },
)

if (process.env['MIGRATE'] !== undefined) await engine.migrate()
await engine.start({ stopTimeoutMs: 300 })

process.on('message', ({ enqueue }: { readonly enqueue: readonly EnqueueRequest[] }) => {
  void driver
    .transaction((tx) => engine.transfers.enqueueMany(tx, enqueue))
    .then((transfers) => process.send?.({ enqueued: transfers.length }))
})
process.once('SIGTERM', () => {
  void engine
    .stop()
    .then(() => pool.end())
    .then(() => process.exit(0))
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
