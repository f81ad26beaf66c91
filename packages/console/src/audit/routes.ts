import { z } from 'zod'
import { covers } from '../authorization/scope.ts'
import { component } from '../component.ts'
import { notFound, parameterError } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { auditRecordSchema, viewRecord } from './audit-view.ts'

const text = z.string().min(1).max(255)

const listAudit = route({
  id: 'listAudit',
  tag: 'Audit',
  method: 'get',
  path: '/audit',
  summary: 'Who did what, the newest first. Who may not read all accounts names a transfer',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({
    transferId: text.optional(),
    actor: text.optional(),
    command: text.optional(),
    limit: z.coerce.number().int().min(1).max(200).optional().meta({ description: 'At most 200. Default 50.' }),
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,17}$/)
      .optional()
      .meta({ description: 'The `nextCursor` of the page before.' }),
  }),
  answer: component('AuditPage', z.object({ records: z.array(auditRecordSchema), nextCursor: z.string().nullable() })),
  async handle({ context, subject, query: { limit = 50, ...query } }) {
    const { transferId } = query
    if (transferId === undefined && subject !== 'all')
      throw parameterError('transferId', 'is needed: you may read some accounts. Name a transfer of one of them.')
    if (transferId !== undefined) {
      const transfer = await context.reads.transfers.get(transferId)
      if (transfer === undefined || !covers(subject, transfer.accountId)) throw notFound()
    }
    const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
    const records = await context.reads.audit.list({ ...given, limit: limit + 1 })
    const page = records.slice(0, limit)
    return {
      records: page.map((one) => viewRecord(one, context.shownMetadata, subject)),
      nextCursor: records.length > limit ? (page.at(-1)?.id ?? null) : null,
    }
  },
})

/** Reads of the audit. */
export const auditRoutes = [listAudit] as const
