import { Amount } from '../amount.ts'
import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { CountPort, CountQuery, CountStep, TransferCount } from '../ports/transfer-counts.ts'
import { isText } from './checked-text.ts'
import type { Stats, StatsBucket, StatsLatency, StatsQuery } from './counting.ts'
import { checkAccountId, readTime } from './enqueueing.ts'

const names = ['step', 'from', 'to', 'gateway', 'accountIds']

const stepMs = { hour: 3_600_000, day: 86_400_000 } as const
const most = { hour: 60 * 24, day: 732 } as const
const usual = { hour: 48, day: 30 } as const

/** Most accounts of one query: each of them is read by itself. */
const mostAccounts = 50

/** Reads counts for a query. */
export async function readStats(backend: CountPort, now: Date, given: StatsQuery = {}): Promise<Stats> {
  const query = readQuery(given, now)
  const { step, from, to, gateway = null } = query
  const { counts, begunAt, countedTo } = await backend.readCounts(query)
  const first = Math.max(Date.parse(from), floor(begunAt ?? to, step))
  const last = Math.min(Date.parse(to), Date.parse(countedTo ?? from))
  const found = Map.groupBy(counts, ({ at }) => Date.parse(at))
  const data: StatsBucket[] = []
  for (let atMs = first; atMs < last; atMs += stepMs[step])
    data.push(addUp(new Date(atMs).toISOString(), gateway, found.get(atMs) ?? []))
  return { step, from, to, rolledUpTo: countedTo, data }
}

function readQuery(given: StatsQuery, now: Date): CountQuery {
  checkNames(given, names)
  const { step = 'hour', gateway, accountIds } = given
  if (step !== 'hour' && step !== 'day') throw refuse('step', 'must be hour or day')
  if (gateway !== undefined && !isText(gateway)) throw refuse('gateway', 'must be text that is not empty')
  if ('accountIds' in given && accountIds === undefined)
    throw refuse('accountIds', 'is undefined; leave it out for all accounts')
  if (accountIds !== undefined && (!Array.isArray(accountIds) || accountIds.length > mostAccounts))
    throw refuse('accountIds', `must be a list of at most ${mostAccounts} accounts`)
  for (const accountId of accountIds ?? []) checkAccountId(accountId)
  const toMs = Date.parse(readTime(given.to, 'to') ?? now.toISOString())
  const fromMs = floor(readTime(given.from, 'from') ?? toMs - usual[step] * stepMs[step], step)
  if (fromMs >= toMs) throw refuse('from', 'must be before "to"')
  if (toMs - fromMs > (most[step] + 1) * stepMs[step])
    throw refuse(
      'from',
      `must be at most ${most[step]} ${step}s before "to"${step === 'hour' ? '; or ask for days' : ''}`,
    )
  const times = { from: new Date(Math.max(fromMs, earliestMs)).toISOString(), to: new Date(toMs).toISOString() }
  return { step, ...times, gateway, accountIds }
}

/** The engine is younger, and what is far before it is no moment of the database. */
const earliestMs = Date.UTC(2000)

/** The beginning of the hour or day of a moment. */
function floor(moment: string | number, step: CountStep): number {
  const ms = typeof moment === 'number' ? moment : Date.parse(moment)
  return ms - (((ms % stepMs[step]) + stepMs[step]) % stepMs[step])
}

function addUp(at: string, gateway: string | null, counts: readonly TransferCount[]): StatsBucket {
  const sum = (member: 'enqueued' | 'completed' | 'failed' | 'canceled' | 'blocked') =>
    counts.reduce((total, one) => total + one[member], 0)
  return {
    ...{ at, gateway, enqueued: sum('enqueued'), completed: sum('completed'), failed: sum('failed') },
    ...{ canceled: sum('canceled'), blocked: sum('blocked'), value: addValues(counts) },
    toAccepted: latencyOf(counts.map(({ acceptedIn }) => acceptedIn)),
    toFinal: latencyOf(counts.map(({ endedIn }) => endedIn)),
  }
}

function addValues(counts: readonly TransferCount[]): StatsBucket['value'] {
  const sums = new Map<string, { readonly enqueued: Amount; readonly completed: Amount }>()
  for (const { currency, enqueuedValue, completedValue } of counts) {
    const one = { enqueued: { value: enqueuedValue, currency }, completed: { value: completedValue, currency } }
    const sum = sums.get(currency)
    const both =
      sum === undefined
        ? one
        : { enqueued: Amount.add(sum.enqueued, one.enqueued), completed: Amount.add(sum.completed, one.completed) }
    sums.set(currency, both)
  }
  return [...sums.entries()]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, { enqueued, completed }]) => ({ currency, enqueued: enqueued.value, completed: completed.value }))
}

/** Reads a share of what took longest from counts of lengths, each of which goes from one power to the next. */
function latencyOf(counts: readonly Readonly<Record<string, number>>[]): StatsLatency {
  const sums = new Map<number, number>()
  for (const lengths of counts) {
    for (const [length, count] of Object.entries(lengths))
      sums.set(Number(length), (sums.get(Number(length)) ?? 0) + count)
  }
  const sorted = [...sums.entries()].toSorted(([one], [other]) => one - other)
  const count = sorted.reduce((total, [, one]) => total + one, 0)
  const at = (share: number): number | null => {
    let left = share * count
    for (const [length, one] of sorted) {
      const from = length === 0 ? 0 : 2 ** (length / 4)
      if (left <= one) return Math.round(from + (2 ** ((length + 1) / 4) - from) * (left / one))
      left -= one
    }
    return null
  }
  return { count, p50Ms: at(0.5), p95Ms: at(0.95) }
}

const refuse = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
