import type { Amount, Logger, Observation, TransferStatus } from '@outlay/core'
import { momentOf, type PaidReading, type PaidReport, readPaid, type Settlement } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readIds } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'

const texts = { record_paid: 'select record_paid as id from {{schema}}.record_paid($1::jsonb)' } as const

const message =
  'The service paid another amount than was asked for; "outlay transfers show" has both, for a person to check.'

const unknownMessage =
  'The service completed a transfer with an amount that cannot be compared with what was asked for, so that counts as paid; ask it what it paid.'

/** A transfer that observations are about. */
interface ObservedTransfer {
  readonly remoteId: string
  /** Undefined when another transaction has it locked. */
  readonly free?: {
    readonly id: string
    readonly status: TransferStatus
    /** What was paid where that is known, or else what was asked for. */
    readonly knownAmount: Amount
    /** When the service said so last, or when it was complete, ISO 8601; null while it is not complete, and when the service did not say. */
    readonly amountSaidAt: string | null
  }
}

/** Makes the store of what was paid on a driver. It logs each amount that is not the one that was asked for. */
export function createPaidAmountStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  logger: Logger | undefined,
) {
  const sql = statements(tokens, texts)
  return {
    /**
     * Records what observations say was paid of transfers that are locked, where they are complete or become it by `completed`; returns
     * the ids of those of which that is news. Call it before their returns are decided about: they are compared with what was paid.
     */
    async record(
      tx: Tx,
      observed: readonly { readonly rows: readonly ObservedTransfer[]; readonly seen: readonly Observation[] }[],
      completed: readonly { readonly id: string; readonly reached_at: string | null }[],
    ): Promise<readonly string[]> {
      const completions = new Map(completed.map((one) => [one.id, one]))
      const reports = observed.flatMap(({ rows, seen }) => {
        const ofId = Map.groupBy(seen, ({ remoteId }) => remoteId)
        return rows.flatMap(({ remoteId, free }) => {
          const completion = free && completions.get(free.id)
          if (free === undefined || (free.status !== 'complete' && completion === undefined)) return []
          const newest = findNewest(free.knownAmount, ofId.get(remoteId) ?? [])
          if (newest === undefined) return []
          // Later reports say it again and again.
          if (newest.paid === null && completion !== undefined) logUnknown(logger, { transferId: free.id }, newest.why)
          const saidAt = completion === undefined ? free.amountSaidAt : completion.reached_at
          return isMore(newest, saidAt) ? [{ id: free.id, ...writePaid(newest.paid) }] : []
        })
      })
      if (reports.length === 0) return []
      const ids = readIds(await driver.execute(tx, sql.record_paid, [storableJson(reports)]))
      for (const transferId of ids) logger?.error({ transferId }, message)
      return ids
    },
  }
}

type KnownReading = Extract<PaidReading, { readonly isOther: boolean }>

/** True of another amount, and of the same one that is of a later time: what is older than that says nothing afterwards. */
function isMore(reading: PaidReading, saidAt: string | null): reading is KnownReading {
  if (reading.paid === null) return false
  const { changedAt } = reading.paid
  return reading.isOther || (changedAt !== null && (saidAt === null || Date.parse(changedAt) > Date.parse(saidAt)))
}

/** The newest observation of a transfer counts, and the last one of those whose time is not known. */
function findNewest(known: Amount, seen: readonly Observation[]): PaidReading | undefined {
  let newest: { readonly reading: PaidReading; readonly changedAt: string | null } | undefined
  for (const one of seen) {
    const reading = readPaid(known, one)
    if (reading === undefined) continue
    const changedAt = reading.paid?.changedAt ?? momentOf(one.transfer?.updatedAt)
    const before = newest?.changedAt ?? null
    if (changedAt === null || before === null || changedAt >= before) newest = { reading, changedAt }
  }
  return newest?.reading
}

/** What was paid, in the form that the SQL which records it reads. */
export const writePaid = ({ amount, changedAt }: PaidReport) => ({ amount, changed_at: changedAt })

function logUnknown(logger: Logger | undefined, fields: Readonly<Record<string, unknown>>, why: string): void {
  logger?.warn({ ...fields, why }, unknownMessage)
}

/** Logs that another amount was paid than was asked for, or that nobody can say that, where an outcome says so. */
export function logPaid(logger: Logger, { transferId, attempt, paid, paidUnknown }: Settlement): void {
  if (paid !== undefined) logger.error({ transferId, attempt }, message)
  if (paidUnknown !== undefined) logUnknown(logger, { transferId, attempt }, paidUnknown)
}
