import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'
import { allAttempts, allEvents } from './histories.ts'

/**
 * Nothing is sent before its time. A simulation notes that as it is sent: time travel passes over rows that somebody has locked, so
 * that later the two moments may be of two times.
 */
export async function checkTimes(at: Evidence): Promise<readonly Violation[]> {
  if (at.sent !== undefined) return []
  const { rows } = await at.environment.host.query<{
    readonly id: string
    readonly attempt: number
    readonly early: string
  }>(
    `select a.transfer_id as id, a.attempt, (t.not_before - a.claimed_at)::text as early
     from ${allAttempts} a join outlay.transfer t on t.id = a.transfer_id where a.claimed_at < t.not_before`,
  )
  return rows.map(({ id, attempt, early }) => ({
    invariant: 'never_before_its_time',
    detail: `attempt ${attempt} of ${id} came ${early} too early`,
  }))
}

/** Notes a transfer that is about to be sent before its time. */
export async function noteEarly(at: Pick<Evidence, 'environment'> & { readonly mistakes: Violation[] }, id: string) {
  const { rows } = await at.environment.host
    .query<{ readonly early: string }>(
      'select (not_before - clock_timestamp())::text as early from outlay.transfer where id = $1 and not_before > clock_timestamp()',
      [id],
    )
    // Postgres may just be restarting.
    .catch(() => ({ rows: [] }))
  for (const { early } of rows)
    at.mistakes.push({ invariant: 'never_before_its_time', detail: `${id} was sent ${early} too early` })
}

/** For so long the gateway says that keys are kept. */
const lifetime = '20 days'

/** Attempts that nobody answered, but for those before an answer that only the service behind the key gives: nothing had happened. */
const unanswered = `select a.transfer_id, min(a.claimed_at) as since from attempt a
  where (a.outcome is null or a.outcome = 'unknown') and not exists (
    select from attempt l where l.transfer_id = a.transfer_id and l.attempt > a.attempt and l.outcome = 'insufficient_balance')
  group by 1`

/** No key is sent beyond its lifetime after an attempt that was not answered. */
export async function checkLifetimes(at: Evidence): Promise<readonly Violation[]> {
  const { rows } = await at.environment.host.query<{
    readonly id: string
    readonly attempt: number
    readonly after: string
  }>(
    `with attempt as materialized (select * from ${allAttempts} a where a.step is null), unanswered as (
       ${unanswered}
     )
     select a.transfer_id as id, a.attempt, (a.claimed_at - u.since)::text as after
     from attempt a join unanswered u using (transfer_id) where a.claimed_at > u.since + $1::interval`,
    [lifetime],
  )
  return rows
    .filter((row) => wasSent(at, row))
    .map(({ id, attempt, after }) => ({
      invariant: 'key_lifetime',
      detail: `attempt ${attempt} of ${id} was sent ${after} after one without an answer`,
    }))
}

/** How long an outcome may stay unknown until a person has to decide; an hour more than the engine says, for the clocks of workers. */
const longestUnknown = '25 hours'

/** What is unknown for too long is not tried twice more, whatever is answered, unless a person releases it. */
export async function checkUnknown(at: Evidence): Promise<readonly Violation[]> {
  const { rows } = await at.environment.host.query<{
    readonly id: string
    readonly attempt: number
    readonly outcome: string
  }>(
    `with attempt as materialized (select * from ${allAttempts} a where a.step is null),
     released as materialized (select e.transfer_id, e.occurred_at from ${allEvents} e where e.type = 'transfer.released'),
     unanswered as (
       ${unanswered}
     ), late as (
       select a.*, lead(a.claimed_at) over (partition by a.transfer_id order by a.attempt) as next_at
       from attempt a join unanswered u using (transfer_id)
       where a.claimed_at > $1::interval + greatest(u.since, (
         select max(r.occurred_at) from released r where r.transfer_id = a.transfer_id and r.occurred_at < a.claimed_at))
     )
     select l.transfer_id as id, l.attempt, l.outcome from late l
     where l.outcome is not null and l.next_at is not null and not exists (
       select from released r where r.transfer_id = l.transfer_id and r.occurred_at between l.claimed_at and l.next_at)`,
    [longestUnknown],
  )
  return rows
    .filter((row) => wasSent(at, row))
    .map(({ id, attempt, outcome }) => ({
      invariant: 'unknown_is_bounded',
      detail: `${id} went on after attempt ${attempt}, ${outcome}, although an outcome was unknown for too long`,
    }))
}

const wasSent = (at: Evidence, { id, attempt }: { readonly id: string; readonly attempt: number }): boolean =>
  at.sent?.has(`${id} ${attempt}`) ?? true

/**
 * No key reaches the service for one account from two of its clients. A registration may, when the client changes after its answer
 * was lost: it moves no money.
 */
export async function checkClients(at: Evidence): Promise<readonly Violation[]> {
  const found: Violation[] = []
  if (at.sharesClient === true) return found
  for (const { accountId, clientIds = [] } of at.tenants) {
    if (clientIds.length < 2) continue
    const registrations = await at.environment.host.query<{ readonly key: string }>(
      `select outlay.submission_key('registration', account_id, idempotency_key) as key from outlay.transfer
       where account_id = $1`,
      [accountId],
    )
    const { rows } = await at.environment.service.query<{ readonly idempotency_key: string }>(
      `select idempotency_key from outlay_service.idempotency_key where client_id = any ($1)
       and idempotency_key <> all ($2) group by 1 having count(*) > 1`,
      [clientIds, registrations.rows.map(({ key }) => key)],
    )
    for (const { idempotency_key } of rows) {
      const detail = `two clients of ${accountId} sent ${idempotency_key}`
      found.push({ invariant: 'one_client_while_unknown', detail })
    }
  }
  return found
}
