import type { AuditRecord } from '@outlay/core'
import { z } from 'zod'
import type { Accounts } from '../authorization/scope.ts'
import { component } from '../component.ts'
import { withoutSums } from '../limit-sums.ts'
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
export const viewRecord = (
  record: AuditRecord,
  shownMetadata: ReadonlySet<string>,
  read: Accounts,
): z.output<typeof auditRecordSchema> => ({
  ...record,
  before: redactFree(withoutSums(record.before, read), shownMetadata),
  after: redactFree(withoutSums(record.after, read), shownMetadata),
})
