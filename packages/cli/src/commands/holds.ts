import type { HoldFacts } from '@outlay/adapters-pg'
import type { SendingState, Stop, StopTarget } from '@outlay/core'
import { listSome } from '../output/list-some.ts'
import { printable } from '../output/table.ts'
import type { Session } from '../session/session.ts'

/** Something that keeps transfers from being sent. */
export interface Hold {
  readonly kind: 'unfamiliar' | 'fence' | 'stop' | 'pause' | 'credentials' | 'throttle'
  /** True when it holds every account. */
  readonly ofAll: boolean
  /** What holds what, as the beginning of a sentence. */
  readonly what: string
  /** The command that ends it; null when it ends without one. */
  readonly command: string | null
}

/** The name of what a stop stops. */
export const nameOf = (target: StopTarget): string => {
  if (target.scope === 'all') return 'everything'
  return target.scope === 'gateway' ? `the gateway ${target.name}` : `the account ${target.name}`
}

/** The option that names the target of a stop. */
export const optionOf = (target: StopTarget): string =>
  target.scope === 'all' ? '--all' : `--${target.scope} ${target.name}`

/**
 * Reads what keeps the transfers of an account, or of any account, from being sent; undefined when that cannot be read: a command
 * that has committed by then must not seem to have failed.
 */
export async function readHolds(
  { engine, inspection }: Session,
  accountId?: string,
): Promise<readonly Hold[] | undefined> {
  try {
    const [sending, facts] = await Promise.all([engine.sending(), inspection.holds(accountId)])
    return holdsOf(sending, facts, accountId)
  } catch {
    return undefined
  }
}

function holdsOf(
  { unfamiliar, fence, stops }: SendingState,
  { paused, refused, throttled }: HoldFacts,
  accountId: string | undefined,
): readonly Hold[] {
  const holds: Hold[] = []
  if (unfamiliar !== null) {
    const what = 'Nothing is sent from a database that the engine does not know'
    holds.push({ kind: 'unfamiliar', ofAll: true, what, command: 'outlay adopt-database' })
  }
  if (fence !== null) {
    const what = `The fence since ${fence.since} still holds`
    holds.push({ kind: 'fence', ofAll: true, what, command: 'outlay reconcile --since <time>' })
  }
  const isMeant = ({ scope, name }: Stop) => scope !== 'account' || accountId === undefined || name === accountId
  holds.push(...stops.filter(isMeant).map(describeStop))
  if (paused.length > 0) {
    const what = `The pause of ${listSome(paused)} still holds`
    holds.push({ kind: 'pause', ofAll: false, what, command: `outlay accounts resume ${only(paused)}` })
  }
  if (refused.length > 0) {
    const what = `The service refuses the credentials of ${listSome(refused)}`
    holds.push({
      kind: 'credentials',
      ofAll: false,
      what,
      command: `outlay accounts retry-credentials ${only(refused)}`,
    })
  }
  if (throttled.length > 0) {
    const what = `The service asked for a pause of ${listSome(throttled)}`
    holds.push({ kind: 'throttle', ofAll: false, what, command: null })
  }
  return holds
}

/** The holds of several accounts, each once; undefined when those of one could not be read. */
export function mergeHolds(each: readonly (readonly Hold[] | undefined)[]): readonly Hold[] | undefined {
  const byName = new Map<string, Hold>()
  for (const holds of each) {
    if (holds === undefined) return undefined
    for (const hold of holds) byName.set(hold.what, hold)
  }
  return [...byName.values()]
}

function describeStop({ scope, name, since, reason, actor }: Stop): Hold {
  const target: StopTarget = scope === 'all' ? { scope } : { scope, name: name ?? '' }
  const who = actor === null ? '' : ` by ${actor}`
  const why = reason === null ? '' : ` (${reason})`
  return {
    kind: 'stop',
    ofAll: scope !== 'account',
    what: `The stop of ${nameOf(target)} since ${since}${who}${why} still holds`,
    command: `outlay start-sending ${optionOf(target)}`,
  }
}

const only = (names: readonly string[]) => (names.length === 1 ? names[0] : '<account>')

/** Sentences about what still holds, each behind a space; empty when nothing does. */
export function formatHolds(holds: readonly Hold[] | undefined): string {
  if (holds === undefined) return ' Whether anything else holds it could not be read: see "outlay doctor".'
  const sentences = holds.map(({ what, command }) =>
    command === null ? ` ${what}; it ends without a command.` : ` ${what}: "${command}" ends it.`,
  )
  return printable(sentences.join(''))
}

/** Whether anything keeps the account from sending, or every account; also where that could not be read. */
export const isHeld = (holds: readonly Hold[] | undefined, accountId?: string): boolean =>
  holds === undefined || holds.some(({ ofAll }) => ofAll || accountId !== undefined)
