import { setTimeout } from 'node:timers/promises'
import { describeJob, jobOfTransfer } from '../queue.ts'
import type { Run } from './run-state.ts'
import { ensureWorker } from './worker-starts.ts'

/**
 * How long a tenant that is well may wait: in milliseconds, in polls of ours, which take turns with the workers and are as slow as
 * they on a busy machine, and in turns of time. Seven refusals in a row defer an account's next probe for ten minutes in all, and each
 * more for five.
 */
const bound = { ms: 30_000, polls: 500, turns: 30 }

/** Pause before time goes on when nothing has moved, in milliseconds. */
const turnMs = 400

/** How far time goes on in a turn, in seconds. */
const turnSeconds = 60

/** After so long the status of whatever was sent has to be read, in seconds. */
const readSeconds = 3_600

/**
 * Hours in a row in which a transfer may be deferred without a poll of which the read was seen to leave. What was leased before an
 * hour began, or met in a page of its account between two polls, is deferred by half an hour or more, and not polled again.
 */
const unseenHours = 3

/**
 * Polls of an account in a row that a worker may end without a read. It defers those of a throttled account unread, and may learn a
 * moment later than the check that the throttle has ended.
 */
const unreadPolls = 2

/** Something that waits for a worker. */
interface Waiting {
  readonly name: string
  readonly account_id: string
  /** For the reader of a violation. */
  readonly state: string
  /** Grows whenever a worker has tried. */
  readonly tries: number
  /** What it is sent or read as; null for what does not leave the process. */
  readonly key: string | null
  /** False for what waits for a later time. */
  readonly due: boolean
}

/**
 * Waits until everything is served that waits now and belongs to tenants which are well, whatever is wrong with the others.
 * What was sent once is served. Notes those that nobody served although time passed, on the clock and for the engine, and those
 * whose polls read nothing.
 */
export async function serve(at: Run): Promise<string> {
  // The check is slow, and once is enough.
  if (hasUnserved(at)) return 'not again'
  for (const { polls, letGo } of at.workers.values()) {
    letGo()
    for (const { accountId } of at.tenants) polls.forget(accountId)
  }
  const served = [await waitUntilServed(at, watchLeaving(at))]
  let unseen: readonly string[] | undefined
  for (let hours = 1; hours <= unseenHours && !hasUnserved(at); hours += 1) {
    // What hangs may delay later calls for others, and not the first.
    if (unseen?.length === 0 && !at.misconduct.isHanging()) break
    // A worker reads as soon as time has gone on.
    const hasLeft = watchLeaving(at)
    await at.environment.travel(readSeconds)
    const later = await waitUntilServed(at, hasLeft)
    served.push(later)
    unseen = unseen === undefined ? later.unseen : unseen.filter((name) => later.unseen.includes(name))
  }
  for (const name of hasUnserved(at) ? [] : (unseen ?? []))
    at.mistakes.push({
      invariant: 'tenant_served',
      detail: `${name}: deferred in ${unseenHours} hours in a row, and nobody was seen to read it; ${describeWorkers(at)}`,
    })
  return served.map(({ outcome }) => outcome).join(', then ')
}

const hasUnserved = (at: Run): boolean => at.mistakes.some(({ invariant }) => invariant === 'tenant_served')

/** What has become of those that waited. */
interface Served {
  readonly outcome: string
  /** Those that were deferred beyond this wait, but not by a poll of which a read was seen to leave. */
  readonly unseen: readonly string[]
}

async function waitUntilServed(at: Run, hasLeft: (one: Waiting) => boolean): Promise<Served> {
  const began = performance.now()
  let left = (await findWaiting(at, await findWell(at))).filter(({ due }) => due)
  const count = left.length
  const deferred = new Set<string>()
  let moved = performance.now()
  let turns = 0
  for (let polls = 0; left.length > 0; polls += 1) {
    // A planned fault may have killed it in the meantime.
    await ensureWorker(at)
    const well = await findWell(at)
    if (await noteUnread(at, well)) return { outcome: 'polls without a read', unseen: [] }
    const now = new Map((await findWaiting(at, well)).map((one) => [one.name, one]))
    const still = left.flatMap(({ name, tries, key }) => {
      const one = now.get(name)
      if (one === undefined) return []
      // An account that the service throttled may be forgotten in the meantime.
      const known = { ...one, key: key === null ? null : one.key }
      if (!one.due) deferred.add(name)
      // A try that never gets out of the process is none.
      return one.tries > tries && hasLeft(known) ? [] : [{ ...known, tries }]
    })
    if (still.length < left.length) moved = performance.now()
    left = still
    const isOver = turns >= bound.turns && polls >= bound.polls && performance.now() - began > bound.ms
    if (left.length > 0 && isOver) {
      const workers = describeWorkers(at)
      const unserved = left.filter(({ name }) => !deferred.has(name))
      for (const { name, account_id, state } of unserved.slice(0, 5))
        at.mistakes.push({
          invariant: 'tenant_served',
          detail: `${account_id} is well, and nobody serves ${name}: ${state}; ${workers}`,
        })
      const unseen = left.flatMap(({ name }) => (deferred.has(name) ? [name] : []))
      return { outcome: `${unserved.length} of ${count} not served, ${unseen.length} deferred`, unseen }
    }
    if (performance.now() - moved > turnMs && turns < bound.turns) {
      turns += 1
      moved = performance.now()
      await at.environment.travel(turnSeconds)
    }
    await setTimeout(20)
  }
  return { outcome: `${count} served`, unseen: [] }
}

/** Says of what waits whether it has left its process since: as a request with its key, by its id, or in a page of its account. */
function watchLeaving({ arrivals, reads }: Run): (one: Waiting) => boolean {
  const before = [arrivals, reads].map((counts) => [counts, new Map(counts)] as const)
  const grows = (key: string) => before.some(([counts, then]) => (counts.get(key) ?? 0) > (then.get(key) ?? 0))
  return ({ key, account_id }) => key === null || grows(key) || grows(account_id)
}

/** What the workers are doing, for the reader of a violation. */
const describeWorkers = (at: Run): string =>
  [...at.workers]
    .map(([number, { faultSchedule, release, nodes }]) => {
      const connections = nodes
        .map(
          ({ pool: { totalCount, idleCount, waitingCount } }) =>
            `${totalCount} connections, ${idleCount} idle, ${waitingCount} waited for`,
        )
        .join(' and ')
      return `worker ${number} of the ${release} release ${faultSchedule.isDead ? 'is dead' : `has ${connections}`}`
    })
    .join(', ')

/** Accounts whose own side is well: credentials, foreign code and limits, and no transaction of their host is open. */
async function findWell(at: Run): Promise<readonly string[]> {
  const { rows } = await at.environment.host.query<{ readonly account_id: string }>(
    'select account_id from outlay.account where paused or rate_per_second is not null or concurrency is not null',
  )
  const unwell = new Set(rows.map(({ account_id }) => account_id))
  for (const { accountId } of at.holds) unwell.add(accountId)
  return at.tenants
    .filter(({ accountId, isLockedOut, isRevoked }) => {
      const isHindered = isLockedOut || isRevoked || at.misconduct.concerns(accountId)
      return !isHindered && !unwell.has(accountId)
    })
    .map(({ accountId }) => accountId)
}

/** Notes workers whose polls of an account that is well read nothing. */
async function noteUnread(at: Run, well: readonly string[]): Promise<boolean> {
  const polling = [...at.workers].flatMap(([number, { polls }]) =>
    at.tenants.flatMap(({ accountId }) => (polls.unread(accountId) === 0 ? [] : [{ number, polls, accountId }])),
  )
  if (polling.length === 0) return false
  // A poll of an account that the service throttled reads nothing.
  const { rows } = await at.environment.host.query<{ readonly account_id: string }>(
    'select account_id from outlay.account_throttle where throttled_until is not null',
  )
  const unasked = polling.filter(({ polls, accountId }) => {
    const isRead = well.includes(accountId) && rows.every(({ account_id }) => account_id !== accountId)
    if (!isRead) polls.forget(accountId)
    return polls.unread(accountId) > unreadPolls
  })
  for (const { number, polls, accountId } of unasked)
    at.mistakes.push({
      invariant: 'tenant_served',
      detail: `${accountId} is well, and worker ${number} has ended ${polls.unread(accountId)} polls of it in a row without a read`,
    })
  return unasked.length > 0
}

/** What waits for a worker now and belongs to those. */
async function findWaiting(at: Run, well: readonly string[]): Promise<readonly Waiting[]> {
  // One of an earlier release leaves to others what it does not know.
  const delivers = [...at.workers.values()].some(
    ({ faultSchedule, release }) => !faultSchedule.isDead && release === 'later',
  )
  const changed = at.tenants.filter(({ hasChanged }) => hasChanged).map(({ accountId }) => accountId)
  const { rows } = await at.environment.host.query<Waiting>(
    `select t.id || ' to be sent' as name, t.account_id,
       concat_ws(', ', t.stage, t.reason, 'attempt ' || t.attempt,
         (${describeJob})) as state,
       (select count(*)::integer from outlay.attempt a where a.transfer_id = t.id and a.outcome not in ('throttled', 'unauthorized')) as tries,
       coalesce(t.submission_key, '') as key, true as due
     from outlay.transfer t
     where t.account_id = any ($1) and t.id <> all ($2) and t.stage in ('queued', 'submitting')
       and (t.not_before is null or t.not_before < now())
       and not exists (select from outlay.paused_batch b where b.batch_id = t.batch_id)
       and (t.account_id <> all ($4) or t.unknown_since is null)
       -- A sweep finds a lost job, after a while.
       and exists (select ${jobOfTransfer})
     union all
     -- A poll defers it, whether or not it was read. An account that the service throttled is deferred unread.
     select t.id || ' to be read as ' || t.status, t.account_id, 'due at ' || t.next_poll_at, t.polls,
       case when not exists (
         select from outlay.account_throttle p where p.account_id = t.account_id and p.throttled_until is not null) then t.remote_id end,
       t.next_poll_at < now()
     from outlay.transfer t where t.account_id = any ($1) and t.stage = 'submitted'
     union all
     select s.transfer_id || ' to be screened', s.account_id, 'due at ' || s.due_at, s.asks, null, true
     from outlay.screening s join outlay.transfer t on t.id = s.transfer_id
     where $3 and s.account_id = any ($1) and t.stage = 'held' and not s.on_hold and s.due_at < now()
     union all
     select d.transfer_id || ' to be delivered to ' || d.subscription, t.account_id, 'due at ' || d.due_at, d.failures, null, true
     from outlay.delivery d join outlay.transfer t on t.id = d.transfer_id
     where $3 and t.account_id = any ($1) and not d.dead and d.due_at < now() and not exists (
       select from outlay.delivery b
       where b.subscription = d.subscription and b.transfer_id = d.transfer_id and b.sequence < d.sequence)`,
    [well, [...at.misconduct.refused.keys()], delivers, changed],
  )
  return rows
}
