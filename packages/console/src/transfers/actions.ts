import type { Resolution, ReturnResolution, StoredTransfer } from '@outlay/core'
import { z } from 'zod'
import type { Person } from '../authorization/authorization.ts'
import { covers } from '../authorization/scope.ts'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { forbidden, notFound, refusal } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { heldSchema, viewHeld } from './held-view.ts'
import { transferSchema, viewTransfer } from './transfer-view.ts'

/** Why, for the audit. */
export const reasonSchema = z.string().max(1_000).regex(/\S/, 'says nothing')

/** The body of an action that needs nothing but its reason. */
export const reasonBody = component('Reason', z.strictObject({ reason: reasonSchema }))

/** The same for the end of a stop or a pause. */
export const sinceBody = component(
  'StopEnd',
  z.strictObject({
    reason: reasonSchema,
    since: z.string().max(64).optional().meta({
      description: 'Since when it is stopped or paused, as it was shown: another one in its place is refused.',
    }),
  }),
)

/** The body of an approval. */
const noteBody = component('ApprovalNote', z.strictObject({ note: reasonSchema.optional() }))

/** What became of a transfer. */
const changedSchema = component(
  'ChangedTransfer',
  z.object({
    transfer: transferSchema,
    held: heldSchema,
    changed: z.boolean().meta({ description: 'False when it was so before.' }),
  }),
)

const stateOf = ({ stage, status, reason }: StoredTransfer) => ({ stage, status, reason })

interface ActionCall<B> {
  readonly context: ConsoleContext
  readonly person: Person
  readonly subject: StoredTransfer
  readonly body: B
}

/** Does something with a transfer, and writes the entry of the audit, in one transaction; shows how it is then. */
function change<B extends { readonly reason?: string | undefined; readonly note?: string | undefined }>(
  command: string,
  run: (tx: Transaction, call: ActionCall<B>) => Promise<boolean>,
) {
  return async (call: ActionCall<B>) => {
    const { context, person, subject, body } = call
    const { id } = subject
    return context.act(person.actor, async (tx, record) => {
      const before = await context.engine.transfers.get(id, tx)
      const changed = await run(tx, call)
      const after = await context.engine.transfers.get(id, tx)
      const held = await context.engine.transfers.holds(id, tx)
      if (before === undefined || after === undefined || held === undefined) throw notFound()
      const reason = body.reason ?? body.note
      if (changed) await record({ command, reason, transferId: id, before: stateOf(before), after: stateOf(after) })
      return {
        transfer: viewTransfer(after, context.shownMetadata),
        held: viewHeld(held, person.permissions.read),
        changed,
      }
    })
  }
}

const about = { tag: 'Transfers', method: 'post', about: 'transfer', answer: changedSchema } as const

const holdTransfer = route({
  ...{ ...about, id: 'holdTransfer', path: '/transfers/:transferId/hold', permission: 'act' },
  summary: 'Holds a transfer until somebody releases it',
  body: reasonBody,
  handle: change('transfers.hold', (tx, { context, person, subject, body }) =>
    context.engine.transfers.hold(tx, subject.id, { actor: person.actor, reason: body.reason }),
  ),
})

const releaseBody = component(
  'Release',
  z.strictObject({
    reason: reasonSchema,
    hold: z
      .enum(['operator', 'limit', 'screening'])
      .optional()
      .meta({ description: 'The hold that it ends. Default: that of people.' }),
    policy: z.string().max(200).optional().meta({ description: 'The policy of that hold, or its limit.' }),
    since: z.string().max(64).optional().meta({
      description: 'Since when it is held, as it was shown: another hold in its place is refused.',
    }),
  }),
)

const releaseTransfer = route({
  ...{ ...about, id: 'releaseTransfer', path: '/transfers/:transferId/release', permission: 'act' },
  summary: 'Ends one hold of a transfer, or returns what is blocked or waits to the queue with its own key',
  body: releaseBody,
  handle: change('transfers.release', async (tx, { context, person, subject, body }) => {
    const note = { actor: person.actor, ...body }
    // It is an answer to the screening, in other words.
    if (body.hold === 'screening' && !covers(person.permissions.approve, subject.accountId))
      throw forbidden('approve', 'on this account, since it ends a hold for screening')
    if (await context.engine.transfers.release(tx, subject.id, note)) return true
    throw refusal(409, 'Only a held, blocked or waiting transfer is released.', 'conflict')
  }),
})

const cancelTransfer = route({
  ...{ ...about, id: 'cancelTransfer', path: '/transfers/:transferId/cancel', permission: 'act' },
  summary: 'Cancels a transfer whose money cannot have moved',
  body: reasonBody,
  handle: change('transfers.cancel', async (tx, { context, person, subject, body }) => {
    await context.engine.transfers.cancel(tx, subject.id, { actor: person.actor, reason: body.reason })
    return true
  }),
})

const approveTransfer = route({
  ...{ ...about, id: 'approveTransfer', path: '/transfers/:transferId/approve', permission: 'approve' },
  summary: 'Approves a held transfer; with its last approval it is sent',
  body: noteBody,
  handle: change('transfers.approve', async (tx, { context, person, subject, body }) => {
    const { actor, roles } = person
    await context.engine.transfers.approve(tx, subject.id, { actor, roles, note: body.note })
    return true
  }),
})

const rejectTransfer = route({
  ...{ ...about, id: 'rejectTransfer', path: '/transfers/:transferId/reject', permission: 'approve' },
  summary: 'Ends a held transfer as canceled',
  body: reasonBody,
  handle: change('transfers.reject', async (tx, { context, person, subject, body }) => {
    await context.engine.transfers.reject(tx, subject.id, { actor: person.actor, reason: body.reason })
    return true
  }),
})

const resolutionBody = component(
  'Resolution',
  z.strictObject({
    reason: reasonSchema,
    remoteId: z.string().min(1).max(255).optional().meta({ description: 'The service has it under this id.' }),
    insteadOf: z.string().min(1).max(64).optional().meta({
      description: 'The transfer of the account that has that id now and loses it.',
    }),
    notPaid: z.literal(true).optional().meta({
      description: 'It is certain that nothing was paid and that nothing will be. Nobody checks that.',
    }),
    unchecked: z.literal(true).optional().meta({
      description: 'Take the id without asking the service whether it has such a transfer.',
    }),
  }),
)

const resolveTransfer = route({
  ...{ ...about, id: 'resolveTransfer', path: '/transfers/:transferId/resolve', permission: 'act' },
  summary: 'Decides about a blocked transfer by what a person learned from the service',
  body: resolutionBody,
  async handle(call) {
    const { context, subject, body, signal } = call
    const { remoteId, unchecked } = body
    // Outside of the transaction: it asks the service.
    if (remoteId !== undefined && unchecked !== true)
      await context.engine.transfers.compare(subject.id, remoteId, { signal })
    return resolve(call)
  },
})

const resolve = change<z.output<typeof resolutionBody>>(
  'transfers.resolve',
  async (tx, { context, person, subject, body }) => {
    await context.engine.transfers.resolve(tx, subject.id, { ...body, actor: person.actor } as Resolution)
    return true
  },
)

const returnBody = component(
  'ReturnResolution',
  z.strictObject({
    reason: reasonSchema,
    identity: z.string().min(1).max(1_000).meta({ description: 'Which return, as the timeline has it.' }),
    amount: z.string().min(1).max(64).optional(),
    currency: z.string().min(1).max(16).optional(),
    dismissed: z.literal(true).optional(),
  }),
)

const resolveReturn = route({
  ...{ ...about, id: 'resolveReturn', path: '/transfers/:transferId/resolve-return', permission: 'act' },
  summary: 'Decides about a return that contradicts its transfer',
  body: returnBody,
  handle: change<z.output<typeof returnBody>>(
    'transfers.resolve_return',
    async (tx, { context, person, subject, body }) => {
      const resolution = { ...body, actor: person.actor } as ReturnResolution
      await context.engine.transfers.resolveReturn(tx, subject.id, resolution)
      return true
    },
  ),
})

const resubmitBody = component(
  'Resubmission',
  z.strictObject({
    reason: reasonSchema,
    idempotencyKey: z.string().min(1).max(255).optional(),
    notBefore: z.string().max(64).nullable().optional(),
    expiresAt: z.string().max(64).nullable().optional(),
    amount: z.string().min(1).max(64).optional().meta({
      description: 'The amount that should have been paid, in the same currency: a decimal string.',
    }),
    addressId: z.string().min(1).max(64).optional().meta({
      description: 'Where it should have gone: another address of the same kind.',
    }),
    gateway: z.string().min(1).max(63).optional().meta({
      description:
        'Where it is sent, where its own gateway has never accepted it. Default: the gateway of the ended transfer.',
    }),
  }),
)

const resubmitTransfer = route({
  ...{ tag: 'Transfers', method: 'post', about: 'transfer', permission: 'act' },
  id: 'resubmitTransfer',
  path: '/transfers/:transferId/resubmit',
  summary: 'Enqueues the request of a failed or canceled transfer again, as a new one with a new key',
  body: resubmitBody,
  answer: component(
    'ResubmittedTransfer',
    z.object({
      transfer: transferSchema.meta({ description: 'The new transfer.' }),
      reused: z.boolean().meta({ description: 'True when it was resubmitted before: nothing was enqueued.' }),
      notice: z.string().nullable(),
    }),
  ),
  async handle({ context, person, subject, body }) {
    const { reason, amount, addressId, ...times } = body
    // The memo is of the payee.
    const { address: _, addressId: _id, wireMemo: _memo, ...leg } = subject.request.destination
    const correction = {
      ...(amount === undefined ? {} : { amount: { ...subject.request.amount, value: amount } }),
      ...(addressId === undefined ? {} : { destination: { ...leg, addressId } }),
    }
    return context.act(person.actor, async (tx, record) => {
      const options = { ...times, ...correction, createdBy: person.actor, reason }
      const again = await context.engine.transfers.resubmit(tx, subject.id, options)
      const after = { resubmittedAs: again.id }
      if (!again.reused)
        await record({ command: 'transfers.resubmit', reason, transferId: subject.id, before: stateOf(subject), after })
      const { reused, notice = null } = again
      return { transfer: viewTransfer(again, context.shownMetadata), reused, notice }
    })
  },
})

const screeningAnswerBody = component(
  'ScreeningAnswer',
  z.strictObject({
    reason: reasonSchema,
    result: z.enum(['pass', 'hold', 'refuse']),
    asks: z.int().min(0).optional().meta({
      description: 'That of the hold that it is an answer to: a newer one is refused. A pass needs this or `case`.',
    }),
    case: z.string().min(1).max(255).optional().meta({
      description: 'The case that it is about; of `hold` the one that holds the transfer from now on.',
    }),
  }),
)
type ScreeningAnswerBody = z.output<typeof screeningAnswerBody>

const answerScreening = route({
  ...{ ...about, id: 'answerScreening', path: '/transfers/:transferId/answer-screening', permission: 'approve' },
  summary: 'Answers what the screening of a transfer has put on hold; false where screening holds it no more',
  body: screeningAnswerBody,
  handle: change<ScreeningAnswerBody>('transfers.answer_screening', async (tx, { context, person, subject, body }) => {
    const decision = { ...body, actor: person.actor }
    return (await context.engine.transfers.answerScreening(tx, subject.id, decision)).isCounted
  }),
})

/** Actions on one transfer. */
export const transferActions = [
  holdTransfer,
  releaseTransfer,
  cancelTransfer,
  approveTransfer,
  rejectTransfer,
  resolveTransfer,
  resolveReturn,
  resubmitTransfer,
  answerScreening,
] as const
