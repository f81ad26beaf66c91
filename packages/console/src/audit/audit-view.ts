import type { AuditRecord } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import { foreignText, redactFree } from '../redaction.ts'

/** One entry of the audit. */
export const auditRecordSchema = component(
  'AuditRecord',
  z.object({
    id: z.string(),
    at: z.string(),
    command: z.string(),
    actor: z.string().nullable(),
    reason: foreignText.nullable(),
    transferId: z.string().nullable(),
    login: z.string().meta({ description: 'The login of the database that wrote it.' }),
    before: z.unknown(),
    after: z.unknown(),
  }),
)

/** What is shown of an entry. */
export const viewRecord = (record: AuditRecord): z.output<typeof auditRecordSchema> => ({
  ...record,
  before: redactFree(record.before),
  after: redactFree(record.after),
})
