import type { CountStep, StatsBucket } from '@outlay/core'
import { formatDuration } from '../output/duration.ts'
import { formatTable } from '../output/table.ts'
import type { Session } from '../session/session.ts'
import { requireAccount } from './known-account.ts'

/** Which counts are shown. */
export interface StatsRequest {
  readonly step: CountStep
  readonly from?: string
  readonly to?: string
  readonly gateway?: string
  readonly account?: string
}

/** Shows what was enqueued and ended by hour or day; those in which nothing was are left out of the table. */
export async function showStats(session: Session, { account, ...query }: StatsRequest): Promise<void> {
  const accounts = account === undefined ? {} : { accountIds: [account] }
  const stats = await session.engine.stats({ ...query, ...accounts })
  const used = stats.data.filter((one) => one.enqueued + one.completed + one.failed + one.canceled + one.blocked > 0)
  if (used.length === 0 && account !== undefined) await requireAccount(session, account)
  session.write(stats, () => {
    if (stats.rolledUpTo === null) return 'Nothing was counted yet: workers begin with it when they run.'
    const table = used.length === 0 ? 'Nothing was enqueued or ended.' : formatTable(used, columns)
    return `${table}\n\nCounted to ${stats.rolledUpTo}.`
  })
}

const formatTime = (ms: number | null): string | null => (ms === null ? null : formatDuration(ms))

const columns: readonly (readonly [string, (one: StatsBucket) => string | number | null])[] = [
  ['at', ({ at }) => at],
  ['enqueued', ({ enqueued }) => enqueued],
  ['completed', ({ completed }) => completed],
  ['failed', ({ failed }) => failed],
  ['canceled', ({ canceled }) => canceled],
  ['blocked', ({ blocked }) => blocked],
  ['to accepted p95', ({ toAccepted }) => formatTime(toAccepted.p95Ms)],
  ['to final p95', ({ toFinal }) => formatTime(toFinal.p95Ms)],
  ['value', ({ value }) => value.map(({ currency, enqueued }) => `${enqueued} ${currency}`).join(', ')],
]
