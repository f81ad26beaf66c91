import type { TransferFilter, TransferSummary } from '@outlay/adapters-pg'
import { defaultCatalog, defaultGateway, Id } from '@outlay/core'
import { formatCsv } from '../output/csv.ts'
import { formatDuration } from '../output/duration.ts'
import { showGateway } from '../output/gateway-column.ts'
import { type Column, formatTable, plural, printable } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { findBatch } from './batches.ts'
import { requireAccount } from './known-account.ts'

/** Which transfers are listed, and how. */
interface ListRequest extends TransferFilter {
  readonly stuck?: boolean | undefined
  readonly totals?: boolean | undefined
  readonly csv?: boolean | undefined
}

/** Lists transfers, newest first; with `stuck`, those that wait for something, the longest wait first; with `totals`, their sums. */
export async function listTransfers(session: Session, request: ListRequest): Promise<void> {
  const { stuck, totals, csv, ...filter } = request
  if (csv === true && session.json) throw new Misuse('The list is written as CSV or as JSON.', 'Give one of the two.')
  if (stuck === true) return listStuck(session, { ...filter, totals, csv })
  if (totals === true) return listTotals(session, filter, csv)
  if (filter.before !== undefined) Id.parse(filter.before, 'before')
  const transfers = await session.inspection.transfers(filter)
  if (transfers.length === 0) await requireKnown(session, filter)
  const isCut = transfers.length >= (filter.limit ?? 50)
  if (csv === true && isCut) session.progress(`More with --before ${transfers.at(-1)?.id}, or a greater --limit.`)
  session.write(transfers, () => {
    if (csv === true) return formatCsv(transfers, csvColumns)
    if (transfers.length === 0) return 'No transfer.'
    return (
      formatTable(transfers, showGateway(columns, transfers)) +
      (isCut ? `\n\nMore with --before ${transfers.at(-1)?.id}` : '')
    )
  })
}

/** Refuses an account, a batch, a gateway or a currency that nobody knows: nothing is found for a wrong one, either. */
async function requireKnown(session: Session, filter: TransferFilter): Promise<void> {
  const { accountId, batchId, gateway, currency } = filter
  if (accountId !== undefined) await requireAccount(session, accountId)
  if (batchId !== undefined) await findBatch(session, batchId)
  if (gateway !== undefined) await requireGateway(session, gateway)
  if (currency !== undefined) await requireCurrency(session, currency)
}

async function requireGateway({ inspection }: Session, gateway: string): Promise<void> {
  const names = [...new Set([defaultGateway, ...(await inspection.gateways())])]
  if (names.includes(gateway)) return
  throw new Misuse(
    `No worker has or had a gateway "${printable(gateway)}".`,
    `Write one of ${printable(names.join(', '))}.`,
  )
}

/** The catalog of the host is not known here: what it adds is known by the transfers. */
async function requireCurrency({ inspection }: Session, currency: string): Promise<void> {
  const { valueType, valueTypes } = defaultCatalog
  if (valueType(currency) !== undefined || (await inspection.transfers({ currency, limit: 1 })).length > 0) return
  const names = valueTypes.map(({ name }) => name).join(', ')
  throw new Misuse(
    `No transfer here is in "${printable(currency)}".`,
    `Write one of ${names}, or one that the catalog of the host adds.`,
  )
}

async function listTotals(session: Session, filter: TransferFilter, csv: boolean | undefined): Promise<void> {
  const { before, limit: _limit, ...rest } = filter
  if (before !== undefined) throw new Misuse('--totals are of all that match.', 'Leave out --before.')
  const totals = await session.inspection.totals(rest)
  if (totals.length === 0) await requireKnown(session, rest)
  const shown: readonly Column<(typeof totals)[number]>[] = [
    ['currency', (row) => row.currency],
    ['status', (row) => row.status],
    ['count', (row) => row.count],
    ['amount', (row) => row.amount],
  ]
  session.write(totals, () => {
    if (csv === true) return formatCsv(totals, shown)
    const count = totals.reduce((sum, row) => sum + row.count, 0)
    return totals.length === 0 ? 'No transfer.' : `${formatTable(totals, shown)}\n\n${plural(count, 'transfer')}.`
  })
}

async function listStuck(session: Session, { accountId, limit, ...others }: ListRequest): Promise<void> {
  if (Object.values(others).some((one) => one !== undefined)) {
    throw new Misuse('--stuck goes with --account and --limit only.', 'Leave out what else there is, or --stuck.')
  }
  const stuck = await session.inspection.stuck({ accountId, ...(limit === undefined ? {} : { limit }) })
  if (stuck.length === 0 && accountId !== undefined) await requireAccount(session, accountId)
  session.write(stuck, () => {
    if (stuck.length === 0) return 'Nothing is stuck.'
    return formatStuck(stuck)
  })
}

type Stuck = Awaited<ReturnType<Session['inspection']['stuck']>>

/** What a transfer waits for, and what to do, stand below its line in full: a table would cut them off. */
function formatStuck(stuck: Stuck): string {
  const shown: readonly Column<Stuck[number]>[] = [
    ['id', (row) => row.id],
    ['account', (row) => row.accountId],
    ['stage', (row) => row.stage],
    ['reason', (row) => row.reason],
    ['for', (row) => formatDuration(row.waitingMs)],
    ['since', (row) => row.since],
  ]
  const [heading = '', ...rows] = formatTable(stuck, showGateway(shown, stuck)).split('\n')
  const below = stuck.map(({ waitsFor, remedy }) => [`  waits for ${printable(waitsFor)}`, `  → ${printable(remedy)}`])
  return [heading, ...rows.flatMap((row, index) => [row, ...(below[index] ?? [])])].join('\n')
}

const columns: readonly Column<TransferSummary>[] = [
  ['id', (row) => row.id],
  ['account', (row) => row.accountId],
  ['key', (row) => row.idempotencyKey],
  ['amount', (row) => `${row.amount} ${row.currency}${row.paidAmount === null ? '' : ` (paid ${row.paidAmount})`}`],
  ['from', (row) => row.source],
  ['to', (row) => row.destination],
  ['stage', (row) => row.stage],
  ['status', (row) => row.status],
  ['reason', (row) => row.reason ?? row.failureCode],
  ['attempts', (row) => row.attempts],
  ['age', (row) => formatDuration(row.ageMs)],
  ['next', (row) => row.nextAttemptAt ?? row.nextPollAt],
]

const csvColumns: readonly Column<TransferSummary>[] = [
  ['id', (row) => row.id],
  ['account', (row) => row.accountId],
  ['key', (row) => row.idempotencyKey],
  ['amount', (row) => row.amount],
  ['currency', (row) => row.currency],
  ['from', (row) => row.source],
  ['to', (row) => row.destination],
  ['stage', (row) => row.stage],
  ['status', (row) => row.status],
  ['reason', (row) => row.reason],
  ['failure_code', (row) => row.failureCode],
  ['failure_detail', (row) => row.failureDetail],
  ['id_at_service', (row) => row.remoteId],
  ['attempts', (row) => row.attempts],
  ['enqueued_at', (row) => row.createdAt],
  ['updated_at', (row) => row.updatedAt],
  ['gateway', (row) => row.gateway],
  ['metadata', (row) => (row.metadata === null ? null : JSON.stringify(row.metadata))],
  ['batch', (row) => row.batchId],
  ['paid_amount', (row) => row.paidAmount],
]
