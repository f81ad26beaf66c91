import { Approval, type HeldState, Id } from '@outlay/core'
import { z } from 'zod'
import type { Person } from '../authorization/authorization.ts'
import { component } from '../component.ts'
import { parameterError } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { filterSchema, limitSchema } from './filter.ts'
import { heldSchema, viewHeld } from './held-view.ts'
import { findTransfers } from './search.ts'
import { transferSchema, viewTransfer } from './transfer-view.ts'

/** Most entries on a page of the queue: what holds each is read one by one. */
const mostEntries = 50

/** Why somebody's approval would not count; null where it would. */
const refusals = ['creator', 'role', 'done'] as const

function refusalFor({ actor, roles }: Person, held: HeldState): (typeof refusals)[number] | null {
  if (Approval.isCreator(held, actor)) return 'creator'
  const open = held.holds.flatMap(({ requirement }) =>
    requirement !== undefined &&
    Approval.isKnown(requirement) &&
    Approval.missing(requirement, held.approvals).length > 0
      ? [requirement]
      : [],
  )
  if (open.some((requirement) => Approval.counts(requirement, held.approvals, { actor, roles }))) return null
  return held.approvals.some((one) => Approval.sameActor(one.actor, actor)) ? 'done' : 'role'
}

const listApprovals = route({
  id: 'listApprovals',
  tag: 'Transfers',
  method: 'get',
  path: '/approvals',
  summary: 'Transfers that wait for approval, the newest first, with what is missing and whether you may give it',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({
    ...{ accountId: filterSchema.shape.accountId, currency: filterSchema.shape.currency },
    ...{ batchId: filterSchema.shape.batchId, limit: limitSchema, cursor: filterSchema.shape.accountId },
  }),
  answer: component(
    'ApprovalPage',
    z.object({
      approvals: z.array(
        z.object({
          transfer: transferSchema,
          held: heldSchema,
          refusal: z.enum(refusals).nullable().meta({
            description: 'Why your approval would not count: you created it, have no role for it, or gave it.',
          }),
        }),
      ),
      nextCursor: z.string().nullable(),
    }),
  ),
  async handle({ context, person, subject, signal, query: { limit = 25, cursor, ...filter } }) {
    if (cursor !== undefined && !Id.is(cursor)) throw parameterError('cursor', 'is not the nextCursor of a page.')
    const wish = { limit: Math.min(limit, mostEntries), cursor, signal }
    const held = { ...filter, stage: 'held', reason: 'approval' } as const
    const { transfers, nextCursor } = await findTransfers(context, subject, held, wish)
    const approvals = []
    for (const one of transfers) {
      signal.throwIfAborted()
      const state = await context.reads.transfers.holds(one.id)
      // It was decided while the page was read.
      if (state === undefined || state.holds.length === 0) continue
      const transfer = viewTransfer(one, context.shownMetadata)
      approvals.push({ transfer, held: viewHeld(state, subject), refusal: refusalFor(person, state) })
    }
    return { approvals, nextCursor }
  },
})

/** The queue of who approves. */
export const approvalRoutes = [listApprovals] as const
