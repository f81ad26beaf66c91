import type { Environment } from '../environment/environment.ts'
import type { Violation, Watch } from '../violation.ts'
import type { Evidence } from './evidence.ts'
import { allEvents } from './histories.ts'

const statuses = ['pending', 'processing', 'failed', 'canceled', 'complete'] as const

/** Members of batches, and whether another member stands for one. */
const members = `(
  select t.batch_id, t.id, t.stage, t.status, exists (
    select from outlay.resubmission r join outlay.transfer s on s.id = r.successor_id
    where r.transfer_id = t.id and s.batch_id = t.batch_id) as is_replaced
  from outlay.transfer t where t.batch_id is not null
)`

/** One statement has one snapshot, in which the counts of each batch have to be those of its members. */
const countsText = `select b.id, b.completed_at is not null as completed,
    concat_ws(' ', ${statuses.map((status) => `b.${status}`).join(', ')}, b.unended, b.resubmitted) as counted,
    concat_ws(' ', ${statuses.map((status) => `count(*) filter (where m.status = '${status}' and not m.is_replaced)`).join(', ')},
      count(*) filter (where m.stage <> 'settled'), count(*) filter (where m.is_replaced)) as there,
    count(*) filter (where m.stage <> 'settled')::integer as unended,
    coalesce(string_agg(m.id || ' ' || m.status, ', ' order by m.id), '') as members
  from outlay.batches b left join ${members} m on m.batch_id = b.id
  group by b.id, b.completed_at, b.pending, b.processing, b.failed, b.canceled, b.complete, b.unended, b.resubmitted`

interface Counted {
  readonly id: string
  readonly completed: boolean
  readonly counted: string
  readonly there: string
  readonly unended: number
  readonly members: string
}

/** Compares the counts of every batch with its members repeatedly, and what is complete with what it was when it completed. */
export function watchBatches(environment: Environment): Watch {
  const completed = new Map<string, string>()
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      // Postgres may just be restarting.
      const { rows } = await environment.host.query<Counted>(countsText).catch(() => ({ rows: [] as Counted[] }))
      for (const batch of rows) {
        if (batch.counted !== batch.there)
          violations.push({
            invariant: 'batches_count',
            detail: `${batch.id} counts ${batch.counted}, and there are ${batch.there}`,
          })
        if (!batch.completed) continue
        const before = completed.get(batch.id) ?? batch.members
        completed.set(batch.id, before)
        if (batch.unended > 0 || batch.members !== before)
          violations.push({
            invariant: 'batches_complete',
            detail: `${batch.id} was complete with ${before}, and has ${batch.members}, of which ${batch.unended} have not ended`,
          })
      }
    },
  }
}

/** Closed batches in which everything has ended and that have not completed. What has ended in doubt keeps one open. */
export async function findUnfinished({ environment }: Pick<Evidence, 'environment'>): Promise<readonly string[]> {
  const { rows } = await environment.host.query<{ readonly id: string }>(
    `select b.id from outlay.batches b where b.completed_at is null and b.closed_at is not null
       and not exists (select from outlay.transfer t where t.batch_id = b.id and t.stage <> 'settled')
       and not exists (
         select from outlay.attempt a join outlay.transfer t on t.id = a.transfer_id where a.unmatched and t.batch_id = b.id)`,
  )
  return rows.map(({ id }) => id)
}

/** What a run noted of its batches. */
interface BatchEvidence extends Pick<Evidence, 'environment'> {
  readonly batches: { readonly canceled: ReadonlyMap<string, number> }
}

/**
 * Each batch that can be is complete, with one event where it has a transfer; what was enqueued into one is in it; what was canceled
 * with one is sent no more.
 */
export async function checkBatches(at: BatchEvidence): Promise<readonly Violation[]> {
  const { host } = at.environment
  const found: Violation[] = (await findUnfinished(at)).map((id) => ({
    invariant: 'batches_complete',
    detail: `${id} is closed, everything in it has ended, and it is not complete`,
  }))
  const { rows: ends } = await host.query<{ readonly id: string; readonly events: number; readonly wanted: number }>(
    `select b.id, count(e.transfer_id)::integer as events,
       (b.completed_at is not null and exists (select from outlay.transfer t where t.batch_id = b.id))::integer as wanted
     from outlay.batch b
     left join (
       select t.batch_id, e.transfer_id from ${allEvents} e join outlay.transfer t on t.id = e.transfer_id
       where e.type = 'batch.completed') e on e.batch_id = b.id
     group by b.id, b.completed_at`,
  )
  for (const { id, events, wanted } of ends)
    if (events !== wanted)
      found.push({
        invariant: 'batches_complete',
        detail: `${id} has ${events} events of completion instead of ${wanted}`,
      })
  const { rows: lost } = await host.query<{
    readonly transfer_id: string
    readonly wanted: string
    readonly has: string
  }>(
    `select p.transfer_id, p.batch_id as wanted, t.batch_id as has from payout p left join outlay.transfer t on t.id = p.transfer_id
     where p.batch_id is distinct from t.batch_id`,
  )
  for (const { transfer_id, wanted, has } of lost)
    found.push({ invariant: 'batches_count', detail: `${transfer_id} was enqueued into ${wanted}, and is in ${has}` })
  const { rows: sent } = await host.query<{ readonly id: string; readonly status: string; readonly attempt: number }>(
    'select id, status, attempt from outlay.transfer where id = any ($1)',
    [[...at.batches.canceled.keys()]],
  )
  for (const { id, status, attempt } of sent) {
    const before = at.batches.canceled.get(id)
    if (status !== 'canceled' || attempt !== before)
      found.push({
        invariant: 'batches_obey',
        detail: `${id} was canceled with its batch after ${before} attempts, and is ${status} after ${attempt}`,
      })
  }
  return found
}
