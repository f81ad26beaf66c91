import {
  createEngine,
  type Engine,
  type EnqueuedTransfer,
  type EnqueueRequest,
  type Observation,
  type SubmitResult,
  stageTransitions,
} from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import type { Driver } from '../database/driver.ts'

const { pool, driver } = await testHost()

/** Records every change of stage. */
const recorder = `
  create table stage_change (origin text, target text);
  create function note_stage() returns trigger language plpgsql as $$ begin
    insert into stage_change values (old.stage, new.stage); return null;
  end $$;
  create trigger note_stage after update on outlay.transfer for each row
    when (old.stage is distinct from new.stage) execute function note_stage();`

const short: SubmitResult = { outcome: 'insufficient_balance', detail: 'short' }
const mismatch: SubmitResult = { outcome: 'key_mismatch', detail: 'another request' }

/** What the parts of the story work with. */
interface Host {
  readonly engine: Engine<pg.PoolClient>
  readonly transaction: Driver<pg.PoolClient>['transaction']
  readonly enqueue: (
    accountId: string,
    first: readonly SubmitResult[],
    overrides?: Partial<EnqueueRequest>,
  ) => Promise<EnqueuedTransfer>
  readonly reaches: (id: string, stage: string) => Promise<unknown>
  /** What the service shows of an account beside what it was sent in this test. */
  readonly listed: Map<string, Observation[]>
}

/** Transfers that wait, of which the service has one each, or two that are alike. */
async function reconcileAll({ engine, transaction, enqueue, reaches, listed }: Host) {
  const shows = (accountId: string, remoteIds: readonly string[], { request, createdAt }: EnqueuedTransfer) => {
    const { amount, source, destination } = request
    const shown = { amount, source, destination, note: null, createdAt, updatedAt: createdAt, failure: null }
    const status = 'processing'
    const observe = (remoteId: string) => ({
      ...{ remoteId, status, failure: null },
      transfer: { ...shown, destination: { ...destination, address: undefined }, status, id: remoteId },
    })
    listed.set(accountId, remoteIds.map(observe) as Observation[])
  }
  await transaction(async (tx) => {
    for (const name of ['waits', 'waits-twice']) await engine.stops.add(tx, { scope: 'account', name })
  })
  const ids = new Map<string, string>()
  const note = { actor: 'olga', reason: 'it is odd' }
  for (const account of ['waits', 'short', 'held']) {
    const first = account === 'short' ? [short, short] : []
    const stage = account === 'short' ? 'awaiting_funds' : account === 'held' ? 'held' : 'queued'
    for (const [name, remoteIds] of [
      [account, [`${account}-1`]],
      [`${account}-twice`, [`${account}-2`, `${account}-3`]],
    ] as const) {
      const transfer = await enqueue(
        name,
        first,
        account === 'held' ? { notBefore: new Date(Date.now() + 3_600_000) } : {},
      )
      if (account === 'held') await transaction((tx) => engine.transfers.hold(tx, transfer.id, note))
      await reaches(transfer.id, stage)
      shows(name, remoteIds, transfer)
      ids.set(name, transfer.id)
    }
  }
  await transaction((tx) => engine.fence(tx))
  const since = new Date(Date.now() - 60_000)
  const of = (name: string) => ids.get(name) ?? ''
  // A transfer that the host no longer wants is not sent again without a person.
  const twice = ['waits-twice', 'short-twice', 'held-twice'].map(of)
  await pool.query('update outlay.transfer set not_before = null, expires_at = now() where id = any ($1)', [twice])
  await engine.reconcile({
    since,
    matches: { [of('waits')]: 'waits-1', [of('short')]: 'short-1', [of('held')]: 'held-1' },
  })
  for (const name of ['waits', 'short', 'held']) {
    expect(await engine.transfers.get(ids.get(name) ?? '')).toMatchObject({
      stage: 'submitted',
      remoteId: `${name}-1`,
    })
  }
  const [one = '', two = '', three = ''] = twice
  for (const id of twice) await reaches(id, 'blocked')
  await transaction((tx) => engine.transfers.release(tx, three))
  await reaches(three, 'held')
  await engine.reconcile({
    since,
    matches: { [one]: 'waits-2', [two]: 'short-3', [three]: 'held-2' },
    acknowledge: true,
  })
  for (const id of twice) await reaches(id, 'submitted')
}

/** One that the service has lost, and two whose outcomes are unknown for longer than a day. */
async function loseAndAge({ engine, transaction, enqueue, reaches }: Omit<Host, 'listed'>) {
  const gone = await enqueue('gone', [])
  await reaches(gone.id, 'submitted')
  await pool.query(
    `update outlay.transfer set reason = 'missing_at_service', unknown_since = now(),
      next_poll_at = now() + interval '1 hour' where id = $1`,
    [gone.id],
  )
  await transaction((tx) => engine.transfers.release(tx, gone.id))
  await reaches(gone.id, 'submitted')

  const late = await enqueue('unknown-in-the-queue', [], { notBefore: new Date(Date.now() + 3_600_000) })
  const doubtful = await enqueue('unknown-without-funds', [short])
  await reaches(doubtful.id, 'awaiting_funds')
  const age = `update outlay.transfer set unknown_since = now() - interval '25 hours' where id = any ($1)`
  await pool.query(age, [[late.id, doubtful.id]])
  for (const { id } of [late, doubtful]) await reaches(id, 'blocked')
}

/** Two that a person holds: one is released, the other one rejected. */
async function holdBoth({ engine, transaction, enqueue }: Omit<Host, 'listed'>) {
  const note = { actor: 'olga', reason: 'it is odd' }
  for (const end of ['release', 'reject'] as const) {
    const held = await enqueue('held-by-a-person', [], { notBefore: new Date(Date.now() + 3_600_000) })
    await transaction((tx) => engine.transfers.hold(tx, held.id, note))
    await transaction(async (tx) => void (await engine.transfers[end](tx, held.id, note)))
  }
}

/** One that is beyond a limit when its funds are asked for again. */
async function exceedLimit({ engine, transaction, enqueue, reaches }: Omit<Host, 'listed'>) {
  const note = { actor: 'olga', reason: 'as planned' }
  const most = { USD: '0.01' }
  const tight = await enqueue('tight', [short])
  await reaches(tight.id, 'awaiting_funds')
  await transaction((tx) =>
    engine.limits.set(tx, [{ name: 'tight', most, span: 'day', zone: 'UTC', accounts: ['tight'] }], note),
  )
  await pool.query('update outlay.outbox set due_at = now(), ready = true where id = outlay.job_id($1)', [tight.id])
  await reaches(tight.id, 'held')
}

/** Two that are blocked: a person says that the service has one, and that the other was not paid. Then a third is the one. */
async function resolveBoth({ engine, transaction, enqueue, reaches }: Omit<Host, 'listed'>) {
  const [found, unpaid] = [await enqueue('found', [mismatch]), await enqueue('unpaid', [mismatch])]
  for (const { id } of [found, unpaid]) await reaches(id, 'blocked')
  await transaction(async (tx) => {
    await engine.transfers.resolve(tx, found.id, { remoteId: 'confirmed' })
    await engine.transfers.resolve(tx, unpaid.id, { notPaid: true })
  })
  const other = await enqueue('found', [mismatch])
  await reaches(other.id, 'blocked')
  const resolution = { remoteId: 'confirmed', insteadOf: found.id }
  await transaction((tx) => engine.transfers.resolve(tx, other.id, resolution))
  await reaches(unpaid.id, 'settled')
}

it('the stages of a transfer change in every way that the table has, and in no other', async () => {
  await pool.query(recorder)
  const gateway = memoryGateway({ status: 'processing' })
  /** What the service shows of an account beside what it was sent in this test. */
  const listed = new Map<string, Observation[]>()
  const list = async (accountId: string) => ({ observations: listed.get(accountId) ?? [] })
  /** Answers of the first attempts, by account; then the transfer is accepted. */
  const answers = new Map<string, SubmitResult[]>()
  gateway.script(({ accountId }) => answers.get(accountId)?.shift())
  const backend = postgres({ driver })
  let fraction = 0.99
  const random = { ...backend.runtime.random, fraction: () => fraction }
  const runtime = { random }
  const engine = createEngine({ backend, gateway: { ...gateway, list }, polling: { maxDelayMs: 50 }, runtime })
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
    await holdBoth({ engine, transaction, enqueue, reaches })
    await exceedLimit({ engine, transaction, enqueue, reaches })

    const polled = await enqueue('accepted', [{ outcome: 'throttled', detail: 'busy' }])
    await reaches(polled.id, 'submitted')
    for (const remoteId of gateway.transfers.keys()) gateway.setStatus(remoteId, 'complete')
    await reaches(polled.id, 'settled')
    await reaches((await enqueue('refused', [{ outcome: 'rejected', code: 'invalid', detail: 'no' }])).id, 'settled')

    const poor = await enqueue('poor', [short, short])
    await reaches(poor.id, 'awaiting_funds')
    await transaction((tx) => engine.accounts.fundsArrived(tx, 'poor'))
    await reach(engine, poor.id, { attempt: 2 })
    await reaches(poor.id, 'awaiting_funds')
    await transaction((tx) => engine.transfers.release(tx, poor.id))
    await reaches(poor.id, 'submitted')

    const hopeless = await enqueue('hopeless', [short])
    await reaches(hopeless.id, 'awaiting_funds')
    await transaction((tx) => engine.transfers.cancel(tx, hopeless.id))

    const released = await enqueue('released', [mismatch])
    await reaches(released.id, 'blocked')
    await transaction((tx) => engine.transfers.release(tx, released.id))
    await reaches(released.id, 'submitted')

    await resolveBoth({ engine, transaction, enqueue, reaches })
    await reconcileAll({ engine, transaction, enqueue, reaches, listed })
    await loseAndAge({ engine, transaction, enqueue, reaches })

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
