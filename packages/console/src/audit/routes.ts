import { formatCsv } from '@outlay/cli/checks'
import { z } from 'zod'
import { type Accounts, covers } from '../authorization/scope.ts'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import type { Chunk, Download } from '../http/download.ts'
import { notFound, parameterError } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { auditRecordSchema, viewRecord } from './audit-view.ts'

const text = z.string().min(1).max(255)

const filter = { transferId: text.optional(), actor: text.optional(), command: text.optional() }

interface AuditFilter {
  readonly transferId?: string | undefined
  readonly actor?: string | undefined
  readonly command?: string | undefined
}

/**
 * Reads a page of the audit, the newest entry first, as the person may see it.
 * @throws OutlayError `invalid_request` without a transfer for who may not read all accounts; `not_found` for a transfer that they may not read
 */
async function readPage(
  context: ConsoleContext,
  subject: Accounts,
  { cursor, limit, ...query }: AuditFilter & { readonly cursor?: string | undefined; readonly limit: number },
) {
  const { transferId } = query
  if (transferId === undefined && subject !== 'all')
    throw parameterError('transferId', 'is needed: you may read some accounts. Name a transfer of one of them.')
  if (transferId !== undefined) {
    const transfer = await context.reads.transfers.get(transferId)
    if (transfer === undefined || !covers(subject, transfer.accountId)) throw notFound()
  }
  const given = Object.entries({ ...query, cursor }).filter(([, value]) => value !== undefined)
  const records = await context.reads.audit.list({ ...Object.fromEntries(given), limit: limit + 1 })
  const page = records.slice(0, limit)
  return {
    records: page.map((one) => viewRecord(one, context.shownMetadata, subject)),
    nextCursor: records.length > limit ? (page.at(-1)?.id ?? null) : null,
  }
}

const listAudit = route({
  id: 'listAudit',
  tag: 'Audit',
  method: 'get',
  path: '/audit',
  summary: 'Who did what, the newest first. Who may not read all accounts names a transfer',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({
    ...filter,
    limit: z.coerce.number().int().min(1).max(200).optional().meta({ description: 'At most 200. Default 50.' }),
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,17}$/)
      .optional()
      .meta({ description: 'The `nextCursor` of the page before.' }),
  }),
  answer: component('AuditPage', z.object({ records: z.array(auditRecordSchema), nextCursor: z.string().nullable() })),
  handle: ({ context, subject, query: { limit = 50, ...query } }) => readPage(context, subject, { ...query, limit }),
})

/** Most rows of one file. */
const mostRows = 100_000

/** Entries that are read at once. */
const rowsAtOnce = 500

type Row = z.output<typeof auditRecordSchema>

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value))

/** Those that `outlay audit export` has, without the chain, which has nothing of a filter. */
const columns: readonly (readonly [string, (row: Row) => string | null])[] = [
  ['at', (row) => row.at],
  ['who', (row) => row.actor],
  ['what', (row) => row.command],
  ['transfer', (row) => row.transferId],
  ['why', (row) => row.reason],
  ['before', (row) => json(row.before)],
  ['after', (row) => json(row.after)],
  ['login', (row) => row.login],
  ['id', (row) => row.id],
]

const heading = formatCsv([], columns)

/** Reads the next part of the file, and how the one behind it is read. */
async function readChunk(
  context: ConsoleContext,
  subject: Accounts,
  query: AuditFilter,
  { written, cursor }: { readonly written: number; readonly cursor?: string | undefined },
): Promise<Chunk> {
  const limit = Math.min(rowsAtOnce, mostRows - written)
  const { records, nextCursor } = await readPage(context, subject, { ...query, cursor, limit })
  // It is no JSON, in which the schema would hide what may be an account number.
  const rows = records.map((one) => auditRecordSchema.parse(one))
  const lines = formatCsv(rows, columns).slice(heading.length)
  const so = written + records.length
  if (nextCursor === null) return { text: lines }
  if (so >= mostRows) return { text: `${lines}\r\nMore than ${mostRows} entries match. Narrow the filter.` }
  return { text: lines, next: () => readChunk(context, subject, query, { written: so, cursor: nextCursor }) }
}

const exportAudit = route({
  id: 'exportAudit',
  tag: 'Audit',
  method: 'get',
  path: '/audit.csv',
  summary: `Who did what as CSV, with the reasons, the newest first, at most ${mostRows} entries. Who may not read all accounts names a transfer`,
  permission: 'read',
  about: 'accounts',
  query: z.strictObject(filter),
  answer: z.string(),
  media: 'text/csv',
  async handle({ context, subject, query }): Promise<Download> {
    const first = await readChunk(context, subject, query, { written: 0 })
    return { ...first, text: heading + first.text, mediaType: 'text/csv', fileName: 'audit.csv' }
  },
})

/** Reads of the audit. */
export const auditRoutes = [listAudit, exportAudit] as const
