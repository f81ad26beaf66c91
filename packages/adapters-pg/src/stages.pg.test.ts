import { createEngine, type EnqueueRequest, type SubmitResult, stageTransitions } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import { pgDriver } from './drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 20 })
afterAll(() => pool.end())

/** Writes down every change of stage, whoever makes it. */
const recorder = `
  create table stage_change (origin text, target text);
  create function note_stage() returns trigger language plpgsql as $$ begin
    insert into stage_change values (old.stage, new.stage); return null;
  end $$;
  create trigger note_stage after update on outlay.transfer for each row
    when (old.stage is distinct from new.stage) execute function note_stage();`

const short: SubmitResult = { outcome: 'insufficient_balance', detail: 'short' }
const mismatch: SubmitResult = { outcome: 'key_mismatch', detail: 'another request' }

it('the stages of a transfer change in every way that the table has, and in no other', async () => {
  await pool.query(recorder)
  const gateway = memoryGateway({ status: 'processing' })
  /** Answers of the first attempts, by account; then the transfer is accepted. */
  const answers = new Map<string, SubmitResult[]>()
  gateway.script(({ accountId }) => answers.get(accountId)?.shift())
  const driver = pgDriver(pool)
  const backend = postgres({ driver })
  let fraction = 0.99
  const random = { ...backend.runtime.random, fraction: () => fraction }
  const engine = createEngine({ backend, gateway, follow: { maxDelayMs: 50 }, runtime: { random } })
  const { transaction } = driver
  const enqueue = (accountId: string, first: readonly SubmitResult[], overrides: Partial<EnqueueRequest> = {}) => {
    answers.set(accountId, [...first])
    return transaction((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, overrides)))
  }
  const reaches = (id: string, stage: string) =>
    waitUntil(async () => (await engine.transfers.get(id))?.stage === stage, { describe: () => `${id} ${stage}` })
  await engine.start()
  try {
    const early = await enqueue('canceled-in-the-queue', [], { notBefore: new Date(Date.now() + 3_600_000) })
    await transaction((tx) => engine.transfers.cancel(tx, early.id))

    const followed = await enqueue('accepted', [{ outcome: 'throttled', detail: 'busy' }])
    await reaches(followed.id, 'submitted')
    for (const remoteId of gateway.transfers.keys()) gateway.setStatus(remoteId, 'complete')
    await reaches(followed.id, 'settled')
    await reaches((await enqueue('refused', [{ outcome: 'rejected', code: 'invalid', detail: 'no' }])).id, 'settled')

    const poor = await enqueue('poor', [short, short])
    await reaches(poor.id, 'awaiting_funds')
    await transaction((tx) => engine.accounts.fundsArrived(tx, 'poor'))
    await waitUntil(async () => (await engine.transfers.get(poor.id))?.attempt === 2)
    await reaches(poor.id, 'awaiting_funds')
    await transaction((tx) => engine.transfers.release(tx, poor.id))
    await reaches(poor.id, 'submitted')

    const hopeless = await enqueue('hopeless', [short])
    await reaches(hopeless.id, 'awaiting_funds')
    await transaction((tx) => engine.transfers.cancel(tx, hopeless.id))

    const [released, dropped] = [await enqueue('released', [mismatch]), await enqueue('dropped', [mismatch])]
    await reaches(released.id, 'blocked')
    await transaction((tx) => engine.transfers.release(tx, released.id))
    await reaches(released.id, 'submitted')
    await reaches(dropped.id, 'blocked')
    await transaction((tx) => engine.transfers.cancel(tx, dropped.id))

    const late = await enqueue('unknown-in-the-queue', [], { notBefore: new Date(Date.now() + 3_600_000) })
    const doubtful = await enqueue('unknown-without-funds', [short])
    await reaches(doubtful.id, 'awaiting_funds')
    const age = `update outlay.transfer set unknown_since = now() - interval '25 hours' where id = any ($1)`
    await pool.query(age, [[late.id, doubtful.id]])
    for (const { id } of [late, doubtful]) await reaches(id, 'blocked')

    // With this jitter the slow backoff is over at once.
    fraction = 0
    await reaches((await enqueue('patient', [short])).id, 'submitted')
  } finally {
    await engine.stop()
  }
  const { rows } = await pool.query<{ arrow: string }>(
    `select distinct origin || ' → ' || target as arrow from stage_change`,
  )
  const table = stageTransitions.map(({ from, to }) => `${from} → ${to}`)
  expect(rows.map(({ arrow }) => arrow).sort()).toEqual(table.sort())
})
