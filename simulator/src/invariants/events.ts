import { type TransferFailure, TransferStatus, transferTransitions } from '@outlay/core'
import type { Environment } from '../environment/environment.ts'
import { subscriptions } from '../environment/subscriptions.ts'
import type { Violation, Watch } from '../violation.ts'
import type { Evidence } from './evidence.ts'
import { allEvents } from './histories.ts'

interface Seen {
  readonly id: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
}

/** Reads the status of every transfer repeatedly, and records each that moved where it cannot. */
export function watchStatuses(environment: Environment): Watch {
  const last = new Map<string, Seen>()
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      const { rows } = await environment.host
        .query<Seen>('select id, status, failure from outlay.transfer')
        .catch(() => ({ rows: [] as Seen[] }))
      // One that moves may be read on both sides, at two moments of which either may be the later one.
      const counts = Map.groupBy(rows, ({ id }) => id)
      for (const seen of rows) {
        if (counts.get(seen.id)?.length !== 1) continue
        const before = last.get(seen.id)
        if (before !== undefined && !leadsTo(before, seen)) {
          violations.push({
            invariant: 'status_path',
            detail: `${seen.id} went from ${before.status} to ${seen.status}`,
          })
        }
        last.set(seen.id, seen)
      }
    },
  }
}

/** True when a status can become another one in any number of steps. */
function leadsTo(from: Omit<Seen, 'id'>, to: Omit<Seen, 'id'>): boolean {
  if (from.status === to.status) return true
  if (TransferStatus.isFinal(from.status, from.failure)) return false
  const reached = new Set<TransferStatus>()
  const visit = (status: TransferStatus) => {
    for (const next of transferTransitions[status] as readonly TransferStatus[]) {
      if (reached.has(next)) continue
      reached.add(next)
      visit(next)
    }
  }
  visit(from.status)
  return reached.has(to.status)
}

/** The events of each transfer count up without holes, and their statuses are a path. */
export async function checkEvents(at: Evidence): Promise<readonly Violation[]> {
  const { rows } = await at.environment.host.query<
    Seen & { readonly sequence: number; readonly type: string; readonly reason: string | null }
  >(
    `select e.transfer_id as id, e.sequence, e.type, e.status, e.failure, e.reason from ${allEvents} e order by e.transfer_id, e.sequence`,
  )
  const found: Violation[] = []
  for (const [id, events] of Map.groupBy(rows, (row) => row.id)) {
    for (const [place, event] of events.entries()) {
      const before = events[place - 1]
      if (event.sequence !== place + 1)
        found.push({ invariant: 'status_path', detail: `${id} lacks event ${place + 1}` })
      if (before !== undefined && !leadsTo(before, event)) {
        found.push({ invariant: 'status_path', detail: `${id} has ${before.status}, then ${event.status}` })
      }
    }
    const ends = events.filter(
      ({ status, failure, type }) =>
        type.startsWith('transfer.') &&
        type !== 'transfer.adopted' &&
        type !== 'transfer.returned' &&
        TransferStatus.isFinal(status, failure),
    )
    const last = events.at(-1)
    const awaitsDecision = last?.type === 'transfer.blocked' && last.reason === 'key_expired'
    if (ends.length !== (awaitsDecision ? 0 : 1))
      found.push({ invariant: 'status_path', detail: `${id} ends ${ends.length} times` })
  }
  return found
}

/** What each subscriber did is what happened: once each, in order per transfer. */
export async function checkEffects(at: Evidence): Promise<readonly Violation[]> {
  const events = await at.environment.host.query<{ readonly key: string; readonly type: string }>(
    `select e.transfer_id || ':' || e.sequence as key, e.type from ${allEvents} e order by e.transfer_id, e.sequence`,
  )
  const effects = await at.environment.host.query<{ readonly key: string; readonly subscription: string }>(
    `select transfer_id || ':' || sequence as key, subscription from effect order by transfer_id, position`,
  )
  return subscriptions.flatMap(({ name, types }) => {
    const wanted = events.rows.filter(({ type }) => (types as readonly string[]).includes(type)).map(({ key }) => key)
    const done = effects.rows.filter(({ subscription }) => subscription === name).map(({ key }) => key)
    const place = wanted.findIndex((key, index) => done[index] !== key)
    if (place < 0 && wanted.length === done.length) return []
    const at = place < 0 ? wanted.length : place
    const detail = `${name}: ${wanted.length} events, ${done.length} effects; at ${at} ${done[at]} instead of ${wanted[at]}`
    // Some that never came are another matter than one that came twice.
    const isLess = done.length < wanted.length && done.every((key) => wanted.includes(key))
    return [{ invariant: isLess ? ('events_reach_their_handler' as const) : ('effects_once' as const), detail }]
  })
}
