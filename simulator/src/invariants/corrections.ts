import type { Engine, StoredTransfer } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'

interface Link {
  readonly ended: string
  readonly successor: string
  readonly ended_remote: string | null
  /** Whether the successor is outside of a batch that could have had it. */
  readonly is_outside: boolean
}

/** A run, and the engine that a host reads with. */
interface LinkedEvidence extends Pick<Evidence, 'environment' | 'tenants'> {
  readonly office: { readonly engine: Pick<Engine<PoolClient>, 'transfers'> }
}

/** Of an ended transfer and its successor one at most has moved money. Each names the other, has its metadata and is in its batch. */
export async function checkCorrections(at: LinkedEvidence): Promise<readonly Violation[]> {
  const { transfers } = at.office.engine
  const { rows } = await at.environment.host.query<Link>(
    `select o.id as ended, s.id as successor, o.remote_id as ended_remote,
       o.batch_id is distinct from s.batch_id and (b.completed_at is null or b.completed_at > s.created_at) as is_outside
     from outlay.resubmission r join outlay.transfer o on o.id = r.transfer_id join outlay.transfer s on s.id = r.successor_id
     left join outlay.batch b on b.id = o.batch_id`,
  )
  const live = await readLive(at)
  const found: string[] = []
  for (const { ended, successor, ended_remote, is_outside } of rows) {
    if (live.has(ended_remote ?? '')) found.push(`${ended} has moved money, and was resubmitted as ${successor}`)
    if (is_outside) found.push(`${successor} is not in the batch of ${ended}`)
    const [first, second] = [await transfers.get(ended), await transfers.get(successor)]
    if (first?.resubmittedAs !== successor || second?.resubmissionOf !== ended)
      found.push(`${ended} names ${first?.resubmittedAs}, and ${successor} names ${second?.resubmissionOf}`)
    if (metadataOf(first) !== metadataOf(second))
      found.push(`${ended} has ${metadataOf(first)}, and ${successor}, which stands for it, ${metadataOf(second)}`)
  }
  const { rows: repeated } = await at.environment.host.query<{ readonly ended: string; readonly count: number }>(
    `select p.asked ->> 'repeats' as ended, count(*)::integer as count from payout p
     where p.asked ? 'repeats' group by 1 having count(*) > 1`,
  )
  for (const { ended, count } of repeated) found.push(`${ended} was resubmitted ${count} times`)
  return found.map((detail) => ({ invariant: 'corrected_once', detail }))
}

const metadataOf = (transfer: StoredTransfer | undefined): string => JSON.stringify(transfer?.metadata ?? null)

/** Ids at the service of what has moved money or may. */
async function readLive({ environment, tenants }: LinkedEvidence): Promise<ReadonlySet<string>> {
  const { rows } = await environment.service.query<{ readonly id: string }>(
    `select id from outlay_service.transfer where account_id = any ($1) and status in ('pending', 'processing', 'complete')`,
    [tenants.map(({ accountId }) => accountId)],
  )
  return new Set(rows.map(({ id }) => id))
}

/** What a search finds by batch and by metadata is what hosts have enqueued with it. */
export async function checkSearches(
  at: LinkedEvidence & { readonly seed: number; readonly batches: { readonly ids: ReadonlyMap<number, string> } },
): Promise<readonly Violation[]> {
  const { host } = at.environment
  const { transfers } = at.office.engine
  const compare = async (what: string, wanted: readonly string[], query: Parameters<typeof transfers.find>[0]) => {
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await transfers.find({ ...query, limit: 5, ...(cursor === undefined ? {} : { cursor }) })
      found.push(...page.transfers.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    if (JSON.stringify(found) === JSON.stringify(wanted)) return []
    return [
      { invariant: 'batches_count' as const, detail: `by ${what} there are ${wanted}, and a search finds ${found}` },
    ]
  }
  const violations: Violation[] = []
  const idsOf = async (where: string, values: readonly unknown[]) => {
    const { rows } = await host.query<{ readonly id: string }>(
      `select t.id from outlay.transfer t where ${where} order by t.id desc`,
      [...values],
    )
    return rows.map(({ id }) => id)
  }
  for (const id of at.batches.ids.values())
    violations.push(...(await compare(id, await idsOf('t.batch_id = $1', [id]), { batchId: id })))
  if (at.batches.ids.size === 0) return violations
  const { rows: noted } = await host.query<{ readonly number: number }>(
    'select distinct number % 1000 as number from payout where batch_id is not null order by 1 limit 5',
  )
  for (const { number } of noted) {
    const wanted = await idsOf('exists (select from payout p where p.transfer_id = t.id and p.number % 1000 = $1)', [
      number,
    ])
    violations.push(...(await compare(`payout ${number}`, wanted, { metadata: { payout: String(number) } })))
  }
  return violations
}
