import { setTimeout as delay } from 'node:timers/promises'
import type { Site } from '../site/site.ts'

/** How long a recovery is waited for, in milliseconds. */
const recoveryTimeoutMs = 90_000

/** When something was over, by the clock of this machine, in milliseconds since the epoch; `undefined` when it was not in time. */
export type Recovered = Promise<number | undefined>

/** An attempt that a worker was in the midst of. */
export interface HeldAttempt {
  readonly id: string
  readonly attempt: number
}

/** Which settlement counts. */
export interface SettlementOptions {
  /** Processes one of which has to have written it; any when absent. */
  readonly pids?: readonly number[] | undefined
  /** Only of attempts that began after the fault. */
  readonly isFresh?: boolean | undefined
}

/**
 * Waits for the first settlement after a fault ended at `endedAtMs`: a worker has written that the service took a transfer
 * on. When transfers were waiting as the fault ended, it has to be about one of those.
 */
export async function firstSettlement(site: Site, endedAtMs: number, options: SettlementOptions = {}): Recovered {
  const { pids, isFresh = false } = options
  const ended = new Date(endedAtMs)
  const waiting = await patiently(async () => {
    const { rows } = await site.host.query<{ readonly id: string }>(
      `select id from outlay.transfer where remote_id is null and stage <> 'settled' and created_at <= $1`,
      [ended],
    )
    return rows.map(({ id }) => id)
  })
  if (waiting === undefined) return undefined
  const values = [ended, pids?.map((pid) => `%:${pid}:%`) ?? ['%'], isFresh, pids === undefined ? waiting : []]
  return patiently(async () => {
    const { rows } = await site.host.query<{ readonly at: Date | null }>(
      `select min(answered_at) as at from outlay.attempt
       where outcome = 'accepted' and answered_at > $1 and worker like any ($2) and (not $3 or claimed_at > $1)
         and ($4 = '{}'::text[] or transfer_id = any ($4))`,
      values,
    )
    return rows[0]?.at?.getTime()
  })
}

/** The attempts that a process has begun and nobody has ended. */
export async function readHeld(site: Site, pid: number): Promise<readonly HeldAttempt[]> {
  const held = await patiently(async () => {
    const { rows } = await site.host.query<HeldAttempt>(
      `select t.id, t.attempt from outlay.transfer t
       join outlay.attempt a on a.transfer_id = t.id and a.attempt = t.attempt and a.answered_at is null
       where t.stage = 'submitting' and a.worker like $1`,
      [`%:${pid}:%`],
    )
    return rows
  })
  if (held === undefined) throw new Error('Postgres did not come back.')
  return held
}

/** Waits until the service has accepted each transfer, as another worker wrote; the time is that of the last. */
export async function takenOver(site: Site, held: readonly HeldAttempt[], diedAtMs: number): Recovered {
  if (held.length === 0) return diedAtMs
  return patiently(async () => {
    const { rows } = await site.host.query<{ readonly at: Date; readonly count: number }>(
      `select max(first) as at, count(*)::integer as count from (
         select h.id, min(a.answered_at) as first from unnest($1::text[], $2::integer[]) as h (id, attempt)
         join outlay.attempt a on a.transfer_id = h.id and a.attempt >= h.attempt and a.outcome = 'accepted'
         group by 1) s`,
      [held.map(({ id }) => id), held.map(({ attempt }) => attempt)],
    )
    const [row] = rows
    return row === undefined || row.count < held.length ? undefined : Math.max(diedAtMs, row.at.getTime())
  })
}

/** Asks until there is an answer; Postgres may be out of reach until then. */
async function patiently<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = performance.now() + recoveryTimeoutMs
  while (performance.now() < deadline) {
    const answer = await ask().catch(() => undefined)
    if (answer !== undefined) return answer
    await delay(200)
  }
  return undefined
}
