import { type Batch, Id } from '@outlay/core'
import { z } from 'zod'
import type { Person } from '../authorization/authorization.ts'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { notFound, parameterError } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { reasonBody, reasonSchema } from '../transfers/actions.ts'
import { cursorSchema, limitSchema } from '../transfers/filter.ts'
import { metadataSchema, viewMetadata } from '../transfers/transfer-view.ts'

const nullableText = z.string().nullable()

const batchSchema = component(
  'Batch',
  z.object({
    id: z.string(),
    accountId: nullableText.meta({ description: 'The only account whose transfers it takes; null for any.' }),
    key: nullableText,
    metadata: metadataSchema.nullable(),
    state: z.enum(['open', 'closed', 'completed']),
    paused: z.boolean(),
    counts: z.object({
      total: z.int(),
      pending: z.int(),
      processing: z.int(),
      failed: z.int(),
      canceled: z.int(),
      complete: z.int(),
      unended: z.int(),
      resubmitted: z.int(),
    }),
    createdAt: z.string(),
    closedAt: nullableText,
    completedAt: nullableText,
  }),
)

const view = (batch: Batch, { shownMetadata }: ConsoleContext) => ({
  ...batch,
  metadata: viewMetadata(batch.metadata, shownMetadata),
})

const listBatches = route({
  id: 'listBatches',
  tag: 'Batches',
  method: 'get',
  path: '/batches',
  summary: 'Batches, the newest first. One that takes transfers of any account is shown to who may read all',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({ limit: limitSchema, cursor: cursorSchema }),
  answer: component('BatchPage', z.object({ batches: z.array(batchSchema), nextCursor: nullableText })),
  async handle({ context, subject, query: { limit = 50, cursor } }) {
    if (cursor !== undefined && !Id.is(cursor)) throw parameterError('cursor', 'is not the nextCursor of a page.')
    const accountIds = subject === 'all' ? undefined : subject
    const found = await context.listBatches({ accountIds, cursor, limit: limit + 1 })
    const batches = found.slice(0, limit)
    const nextCursor = found.length > limit ? (batches.at(-1)?.id ?? null) : null
    return { batches: batches.map((one) => view(one, context)), nextCursor }
  },
})

const showBatch = route({
  id: 'showBatch',
  tag: 'Batches',
  method: 'get',
  path: '/batches/:batchId',
  summary: 'One batch with its counts',
  permission: 'read',
  about: 'batch',
  answer: batchSchema,
  handle: async ({ context, subject }) => view(subject, context),
})

const reviewSchema = component(
  'BatchReview',
  z.object({
    transfers: z.int(),
    totals: z.record(z.string(), z.string()).meta({ description: 'The total of each currency.' }),
    digest: z.string().meta({ description: 'Stands for exactly these transfers with exactly these requests.' }),
  }),
)

const reviewBatch = route({
  id: 'reviewBatch',
  tag: 'Batches',
  method: 'get',
  path: '/batches/:batchId/review',
  summary: 'What of a batch is held for approval: whoever approves it gives the digest back',
  permission: 'read',
  about: 'batch',
  answer: reviewSchema,
  async handle({ context, subject }) {
    const review = await context.reads.batches.review(subject.id)
    if (review === undefined) throw notFound()
    return { ...review }
  },
})

const approveBody = component(
  'BatchApproval',
  z.strictObject({
    digest: z.string().length(64).meta({ description: 'That of the review that the approver has seen.' }),
    note: reasonSchema.optional(),
  }),
)

const changedSchema = component(
  'ChangedBatch',
  z.object({
    batch: batchSchema,
    changed: z.boolean().meta({ description: 'False when it was so before.' }),
    result: z.record(z.string(), z.number()).meta({ description: 'What the action counts, by name.' }),
  }),
)

type Counts = Readonly<Record<string, number>>

/** The parts of a batch's route that are the same for all actions. */
const about = { tag: 'Batches', method: 'post', about: 'batch', answer: changedSchema } as const

interface BatchCall<B> {
  readonly context: ConsoleContext
  readonly person: Person
  readonly subject: Batch
  readonly body: B
}

/** Why, in the body of an action. */
interface Why {
  readonly reason?: string | undefined
  readonly note?: string | undefined
}

/** Does something with a batch, and writes the entry of the audit, in one transaction. */
const change =
  <B extends Why>(
    command: string,
    run: (call: BatchCall<B>, tx: Transaction) => Promise<boolean | Counts>,
    through: 'act' | 'holdBack' = 'act',
  ) =>
  (call: BatchCall<B>) => {
    const { context, person, subject, body } = call
    return context[through](person.actor, async (tx, record) => {
      const done = await run(call, tx)
      const result = typeof done === 'boolean' ? {} : done
      const changed = typeof done === 'boolean' ? done : true
      const batch = await context.engine.batches.get(subject.id, tx)
      if (batch === undefined) throw notFound()
      const after = { batchId: subject.id, state: batch.state, paused: batch.paused, ...result }
      const before = { batchId: subject.id, state: subject.state, paused: subject.paused }
      if (changed) await record({ command, reason: body.reason ?? body.note, before, after })
      return { batch: view(batch, context), changed, result }
    })
  }

const by = ({ person, body }: BatchCall<Why>) => ({ actor: person.actor, reason: body.reason })

/** Reads and actions of batches. */
export const batchRoutes = [
  listBatches,
  showBatch,
  reviewBatch,
  route({
    ...{ ...about, id: 'closeBatch', path: '/batches/:batchId/close', permission: 'act', body: reasonBody },
    summary: 'Lets a batch take no further transfers',
    handle: change('batches.close', (call, tx) => call.context.engine.batches.close(tx, call.subject.id, by(call))),
  }),
  route({
    ...{ ...about, id: 'pauseBatch', path: '/batches/:batchId/pause', permission: 'act', body: reasonBody },
    summary: 'Keeps the transfers of a batch from being submitted',
    isUrgent: true,
    handle: change(
      'batches.pause',
      (call, tx) => call.context.engine.batches.pause(tx, call.subject.id, by(call)),
      'holdBack',
    ),
  }),
  route({
    ...{ ...about, id: 'resumeBatch', path: '/batches/:batchId/resume', permission: 'act', body: reasonBody },
    summary: 'Resumes a paused batch',
    handle: change('batches.resume', (call, tx) => call.context.engine.batches.resume(tx, call.subject.id, by(call))),
  }),
  route({
    ...{ ...about, id: 'cancelBatch', path: '/batches/:batchId/cancel', permission: 'act', body: reasonBody },
    summary: 'Closes a batch and cancels its transfers whose money cannot have moved',
    handle: change('batches.cancel', async (call, tx) => ({
      ...(await call.context.engine.batches.cancel(tx, call.subject.id, by(call))),
    })),
  }),
  route({
    ...{ ...about, id: 'approveBatch', path: '/batches/:batchId/approve', permission: 'approve', body: approveBody },
    summary: 'Approves all held transfers of a batch that ask for approval, or none',
    handle: change('batches.approve', async ({ context, person, subject, body }, tx) => {
      const { actor, roles } = person
      const { digest, note } = body
      return { ...(await context.engine.batches.approve(tx, subject.id, { actor, roles, note, expected: { digest } })) }
    }),
  }),
] as const
