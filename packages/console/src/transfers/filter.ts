import { stages, transferStatuses } from '@outlay/core'
import { z } from 'zod'

const text = z.string().min(1).max(500)
const moment = z.iso
  .datetime({ offset: true })
  .refine((text) => !text.startsWith('0000'), 'is before the first year of the database')
  .meta({ description: 'ISO 8601 with a zone.' })

/** Pairs of metadata, in a body and, as `metadata[name]=value`, in a query. */
const metadata = z
  .record(z.string().min(1).max(40), z.string().max(500))
  .refine((pairs) => [1, 2, 3, 4, 5].includes(Object.keys(pairs).length), 'has one to five pairs')

const members = {
  accountId: text.optional(),
  gateway: text.optional(),
  stage: z.enum(stages).optional(),
  status: z.enum(transferStatuses).optional(),
  reason: text.optional(),
  amount: z
    .string()
    .regex(/^\d{1,30}(\.\d{1,18})?$/, 'is no decimal string')
    .optional()
    .meta({ description: 'That was asked for; 12.5 and 12.50 are one amount.' }),
  currency: text.optional(),
  payee: text
    .optional()
    .meta({ description: "The id of the payee's address, or the name of one that was given in full." }),
  batchId: text.optional(),
  metadata: metadata.optional().meta({ description: 'One to five pairs; in a query `metadata[name]=value`.' }),
  createdAfter: moment.optional(),
  createdBefore: moment.optional(),
}

/** Which transfers are meant, as `engine.transfers.find` has it. */
export const filterSchema = z.strictObject(members)

/** Which transfers are meant: an absent member does not narrow them. */
export type Filter = z.output<typeof filterSchema>

/** Most items on a page. */
const maxPage = 200

/** How many items are on a page. */
export const limitSchema = z.coerce
  .number()
  .int()
  .min(1)
  .max(maxPage)
  .optional()
  .meta({ description: `Items on a page, at most ${maxPage}. Default 50.` })

/** Where a page begins. */
export const cursorSchema = text.optional().meta({ description: 'The `nextCursor` of the page before.' })

/** A filter with a page. */
export const pageFilterSchema = z.strictObject({ ...members, limit: limitSchema, cursor: cursorSchema })

/** The filter without members that are undefined, which the engine refuses. */
export const compact = <T extends object>(filter: T): T =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as T
