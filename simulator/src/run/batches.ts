import { setTimeout } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Tenant } from '../environment/tenant.ts'
import { findUnfinished } from '../invariants/batches.ts'
import { askedOf } from '../judging/asked.ts'
import type { PlannedPayout } from '../plan/draw.ts'
import type { PlayerStep } from '../plan/players.ts'
import { noteVictim } from './holds.ts'
import { keepPayout, RolledBack, tenantOf } from './host-payouts.ts'
import { workUntil } from './returned-payments.ts'
import type { Run } from './run-state.ts'

type Fill = Extract<PlayerStep, { readonly do: 'fill_batch' }>
type Command = Extract<PlayerStep, { readonly do: 'command_batch' }>

/** Enqueues payouts into one batch in transactions that are open at once. */
export async function fillBatch(at: Run, step: Fill): Promise<string> {
  const tenant = tenantOf(at, step.tenant)
  const batchId = await ensureBatch(at, step.batch, tenant)
  const parts = Array.from({ length: step.transactions }, (_, part) =>
    step.payouts.filter((_payout, place) => place % step.transactions === part),
  )
  const command = () =>
    step.meanwhile === 'nothing' ? '' : commandBatch(at, { ...step, what: step.meanwhile, ends: 'commit' })
  const said: string[] = []
  const open: Filling[] = []
  try {
    for (const payouts of parts)
      open.push(await openFilling(at, { batchId, tenant, payouts, isSnapshot: step.isSnapshot }))
    said.push(await command())
    await setTimeout(step.forMs)
  } finally {
    const ending = [...open.entries()]
    if (step.isReversed) ending.reverse()
    for (const [part, filling] of ending) said.push(await filling.end(part === step.rolledBack ? 'rollback' : 'commit'))
  }
  // What was being enqueued while its batch was canceled is not seen by that.
  if (step.meanwhile === 'cancel') said.push(await command())
  if (step.isRepeated) {
    const again = await openFilling(at, { batchId, tenant, payouts: step.payouts, isSnapshot: false })
    said.push(`again ${await again.end('commit')}`)
  }
  return said.filter((one) => one !== '').join(', ')
}

/** The batch of a number, which the first one that asks for it creates. */
async function ensureBatch(at: Run, number: number, { accountId }: Tenant): Promise<string> {
  const { batches } = at.office.engine
  const known = at.batches.ids.get(number)
  if (known !== undefined) return known
  const wanted = {
    key: `batch-${number}`,
    metadata: { run: String(at.seed) },
    ...(number % 2 === 1 ? { accountId } : {}),
  }
  const { id } = await at.office.transaction(null, (tx) => batches.create(tx, wanted))
  at.batches.ids.set(number, id)
  return id
}

/** A transaction that enqueues into a batch. */
interface Filling {
  end(how: 'commit' | 'rollback'): Promise<string>
}

async function openFilling(
  at: Run,
  part: {
    readonly batchId: string
    readonly tenant: Tenant
    readonly payouts: readonly PlannedPayout[]
    readonly isSnapshot: boolean
  },
): Promise<Filling> {
  const client = await at.environment.nodes[0].office.connect()
  const onError = () => undefined
  client.on('error', onError)
  const close = async (text: 'commit' | 'rollback'): Promise<string> => {
    try {
      await client.query(text)
      return text
    } catch (error) {
      // Others have to end all the same.
      noteVictim(at, error)
      return `${text} failed`
    } finally {
      client.off('error', onError)
      client.release()
    }
  }
  try {
    await client.query(`begin isolation level ${part.isSnapshot ? 'repeatable read' : 'read committed'}`)
    await enqueueInto(at, client, part)
  } catch (error) {
    noteVictim(at, error)
    await close('rollback')
    if (!isRefusal(error)) throw error
    return { end: async () => 'refused' }
  }
  return { end: close }
}

async function enqueueInto(
  at: Run,
  tx: PoolClient,
  {
    batchId,
    tenant,
    payouts,
  }: { readonly batchId: string; readonly tenant: Tenant; readonly payouts: readonly PlannedPayout[] },
): Promise<void> {
  const { enqueue, enqueueMany } = at.office.engine.transfers
  const requests = payouts.map((payout) => ({
    ...tenant.request(payout),
    batchId,
    metadata: { payout: String(payout.number), run: String(at.seed) },
  }))
  const [only] = requests
  const transfers =
    requests.length === 1 && only !== undefined ? [await enqueue(tx, only)] : await enqueueMany(tx, requests)
  for (const [place, { id }] of transfers.entries()) {
    const request = requests[place]
    const asked = request === undefined ? null : askedOf(request)
    await keepPayout(at, tx, payouts[place]?.number ?? -1, id, tenant.accountId, asked, batchId)
  }
}

/** The batch is closed, or it was completed after the snapshot of the transaction. */
const isRefusal = (error: unknown): boolean =>
  OutlayError.is(error, 'conflict') || (error instanceof Error && 'code' in error && error.code === '40001')

/** Does something with a batch as a whole, and notes what must not be sent from then on. */
export async function commandBatch(at: Run, step: Omit<Command, 'do'>): Promise<string> {
  const id = at.batches.ids.get(step.batch)
  if (id === undefined) return 'there is no such batch'
  const { batches } = at.office.engine
  // What is sent from here on is no longer sent in the pause.
  if (step.what === 'resume') await checkPaused(at, id)
  try {
    await at.office.transaction(null, async (tx) => {
      await batches[step.what](tx, id)
      if (step.ends === 'rollback') throw new RolledBack()
    })
  } catch (error) {
    if (error instanceof RolledBack) return `${step.what} rolled back`
    // It is empty.
    if (OutlayError.is(error, 'conflict')) return `${step.what} refused`
    throw error
  }
  if (step.what === 'pause') await notePaused(at, id)
  if (step.what === 'cancel') await noteCanceled(at, id)
  return step.what
}

interface Member {
  readonly id: string
  readonly stage: string
  readonly status: string
  readonly attempt: number
}

const readMembers = async ({ environment }: Pick<Run, 'environment'>, batchId: string): Promise<readonly Member[]> =>
  (
    await environment.host.query<Member>(
      'select t.id, t.stage, t.status, t.attempt from outlay.transfer t where t.batch_id = $1 order by t.id',
      [batchId],
    )
  ).rows

/** Notes what waits in a paused batch. A claim that began before the pause has its rows locked until it ends. */
async function notePaused(at: Run, batchId: string): Promise<void> {
  if (at.batches.paused.has(batchId)) return
  try {
    // One by one, so that nobody waits for this one.
    for (const { id } of await readMembers(at, batchId))
      await at.environment.nodes[0].office.query('select from outlay.transfer where id = $1 for update', [id])
  } catch {
    // A host has locked one for longer.
    return
  }
  const waiting = (await readMembers(at, batchId)).filter(({ stage }) => stage === 'queued')
  at.batches.paused.set(batchId, new Map(waiting.map(({ id, attempt }) => [id, attempt])))
}

/** Notes what was sent of a paused batch. */
async function checkPaused(at: Run, batchId: string): Promise<void> {
  const paused = at.batches.paused.get(batchId)
  at.batches.paused.delete(batchId)
  for (const { id, attempt } of await readMembers(at, batchId)) {
    const before = paused?.get(id)
    if (before === undefined || before === attempt) continue
    const detail = `${id} had ${before} attempts when ${batchId} was paused, and ${attempt} before it was resumed`
    at.mistakes.push({ invariant: 'batches_obey', detail })
  }
}

/** Notes what a cancellation has left although it was never sent, and the attempts of what it has ended. */
async function noteCanceled(at: Run, batchId: string): Promise<void> {
  for (const { id, stage, status, attempt } of await readMembers(at, batchId)) {
    if (stage !== 'settled' && attempt === 0)
      at.mistakes.push({ invariant: 'batches_obey', detail: `${id} waits although ${batchId} was canceled` })
    if (status === 'canceled' && !at.batches.canceled.has(id)) at.batches.canceled.set(id, attempt)
  }
}

/** Resumes every batch. */
export async function resumeBatches(at: Run): Promise<void> {
  for (const batch of at.batches.ids.keys()) await commandBatch(at, { batch, what: 'resume', ends: 'commit' })
}

/** What waits for a batch that is not paused. */
export const unwoken = `select t.id from outlay.transfer t where t.stage = 'queued' and t.reason = 'batch_paused'
  and not exists (select from outlay.paused_batch p where p.batch_id = t.batch_id)`

/** Notes what still waits for batches that were resumed. */
export async function noteUnwoken(at: Run): Promise<void> {
  const { rows } = await at.environment.host.query<{ readonly id: string }>(unwoken)
  for (const { id } of rows)
    at.mistakes.push({ invariant: 'nothing_stuck', detail: `${id} waits for its batch, which is resumed` })
}

/** Closes what is open once everything has ended, and waits for the completions. What comes back later changes nothing of them. */
export async function completeBatches(at: Run): Promise<string> {
  const { ids } = at.batches
  if (ids.size === 0) return ''
  for (const [batch, id] of ids) {
    const { state, counts } = (await at.office.engine.batches.get(id)) ?? {}
    if (state !== 'open') continue
    await commandBatch(at, { batch, what: counts?.total === 0 ? 'cancel' : 'close', ends: 'commit' })
  }
  const isComplete = async () =>
    (await findUnfinished(at)).length === 0 && (await at.office.engine.backlog()).undelivered === 0
  await workUntil(at, isComplete, 60)
  return `; ${ids.size} batches`
}
