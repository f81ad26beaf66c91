import { formatCsv } from '@outlay/cli/checks'
import { z } from 'zod'
import type { Accounts } from '../authorization/scope.ts'
import type { ConsoleContext } from '../context.ts'
import type { Chunk, Download } from '../http/download.ts'
import { route } from '../routing/route.ts'
import { type Filter, filterSchema } from './filter.ts'
import { findTransfers } from './search.ts'
import { type transferSchema, viewTransfer } from './transfer-view.ts'

type Row = z.output<typeof transferSchema>

/** Most rows of one file. */
const mostRows = 100_000

/** Transfers that one search gives. */
const rowsAtOnce = 500

const nameOf = ({ valueType, transferType }: { readonly valueType: string; readonly transferType: string }): string =>
  `${valueType} ${transferType}`

/** The columns of the file. Of a counterparty there is nothing but its name. */
const columns: readonly (readonly [string, (row: Row) => string | number | null])[] = [
  ['id', (row) => row.id],
  ['account', (row) => row.accountId],
  ['gateway', (row) => row.gateway],
  ['key', (row) => row.idempotencyKey],
  ['amount', (row) => row.amount.value],
  ['currency', (row) => row.amount.currency],
  ['paid_amount', (row) => row.paidAmount?.value ?? null],
  ['from', (row) => nameOf(row.source)],
  ['to', (row) => nameOf(row.destination)],
  ['counterparty', (row) => row.destination.counterparty?.name ?? null],
  ['stage', (row) => row.stage],
  ['status', (row) => row.status],
  ['reason', (row) => row.reason],
  ['failure_code', (row) => row.failure?.code ?? null],
  ['failure_detail', (row) => row.failure?.detail ?? null],
  ['id_at_service', (row) => row.remoteId],
  ['attempts', (row) => row.attempts],
  ['batch', (row) => row.batchId],
  ['note', (row) => row.note],
  ['metadata', (row) => (row.metadata === null ? null : JSON.stringify(row.metadata))],
  ['enqueued_at', (row) => row.createdAt],
  ['updated_at', (row) => row.updatedAt],
]

const heading = formatCsv([], columns)
const lines = (rows: readonly Row[]): string => formatCsv(rows, columns).slice(heading.length)

/** Reads the next page, and how the one behind it is read. */
async function readChunk(
  context: ConsoleContext,
  accounts: Accounts,
  filter: Filter,
  {
    written,
    cursor,
    signal,
  }: { readonly written: number; readonly cursor?: string | undefined; readonly signal: AbortSignal },
): Promise<Chunk> {
  const limit = Math.min(rowsAtOnce, mostRows - written)
  const { transfers, nextCursor } = await findTransfers(context, accounts, filter, { limit, cursor, signal })
  const text = lines(transfers.map((one) => viewTransfer(one, context.shownMetadata)))
  const so = written + transfers.length
  if (nextCursor === null) return { text }
  if (so >= mostRows)
    return {
      text: `${text}\r\nMore than ${mostRows} transfers match. Take them in parts by createdAfter and createdBefore.`,
    }
  return {
    text,
    next: (later) => readChunk(context, accounts, filter, { written: so, cursor: nextCursor, signal: later }),
  }
}

const exportTransfers = route({
  id: 'exportTransfers',
  tag: 'Transfers',
  method: 'get',
  path: '/transfers.csv',
  summary: `All transfers of a filter as CSV, the newest first, at most ${mostRows}`,
  permission: 'read',
  about: 'accounts',
  query: filterSchema,
  answer: z.string(),
  media: 'text/csv',
  async handle({ context, subject, query, signal }): Promise<Download> {
    const first = await readChunk(context, subject, query, { written: 0, signal })
    return { ...first, text: heading + first.text, mediaType: 'text/csv', fileName: 'transfers.csv' }
  },
})

/** Transfers as a file. */
export const transferFiles = [exportTransfers] as const
