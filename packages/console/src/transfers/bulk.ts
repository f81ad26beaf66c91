import { createHash } from 'node:crypto'
import { OutlayError, type StoredTransfer } from '@outlay/core'
import { z } from 'zod'
import type { Person } from '../authorization/authorization.ts'
import { component } from '../component.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { refusal } from '../http/problem.ts'
import { route } from '../routing/route.ts'
import { reasonSchema } from './actions.ts'
import { filterSchema } from './filter.ts'
import { collectTransfers } from './search.ts'
import { sumTotals, totalSchema } from './totals.ts'

/** Most transfers of one bulk action: it is one transaction. */
export const mostInBulk = 500

const expectedSchema = z.strictObject({ count: z.int().min(1), digest: z.string().length(64) })

const bulkBody = component(
  'BulkRequest',
  z.strictObject({
    filter: filterSchema,
    dryRun: z.literal(true).optional().meta({ description: 'Only show what it would be about.' }),
    expected: expectedSchema
      .optional()
      .meta({ description: 'What the dry run has shown: other transfers are refused.' }),
    reason: reasonSchema.optional().meta({ description: 'Needed with `expected`.' }),
  }),
)

const bulkSchema = component(
  'BulkResult',
  z.object({
    done: z.boolean().meta({ description: 'False for a dry run.' }),
    count: z.int(),
    totals: z.array(totalSchema),
    digest: z.string().meta({ description: 'Stands for the action, these transfers and their state.' }),
    accounts: z.int().meta({ description: 'Accounts that they are of.' }),
    sample: z.array(z.string()).meta({ description: 'The ids of the first ten.' }),
    unfit: z.int().meta({
      description: 'Those that are at a stage at which the action is refused, and so it is refused for all of them.',
    }),
    unchanged: z.int().meta({
      description:
        'Those of a hold that an operator held before: whoever ends that hold lets them go. The entry of the audit names them. 0 for a dry run.',
    }),
  }),
)

/** One command for many transfers. */
interface BulkAction {
  readonly name: 'hold' | 'release' | 'cancel' | 'approve' | 'reject'
  readonly permission: 'act' | 'approve'
  readonly summary: string
  /** Stages at which it may be done. */
  readonly stages: readonly StoredTransfer['stage'][]
  /** Resolves to false where it was so before. */
  run(context: ConsoleContext, tx: Transaction, transfer: StoredTransfer, by: By): Promise<boolean>
}

/** Who acts, and why. */
interface By extends Pick<Person, 'actor' | 'roles'> {
  readonly reason: string
}

const actions: readonly BulkAction[] = [
  {
    ...{ name: 'hold', permission: 'act', summary: 'Holds all transfers of a filter, or none' },
    stages: ['queued', 'held'],
    // What somebody holds is held: whoever holds all of an account need not leave it out.
    run: ({ engine }, tx, { id }, { actor, reason }) => engine.transfers.hold(tx, id, { actor, reason }),
  },
  {
    ...{ name: 'release', permission: 'act', summary: 'Releases all transfers of a filter, or none' },
    stages: ['held', 'blocked', 'awaiting_funds'],
    async run({ engine }, tx, { id }, { actor, reason }) {
      if (!(await engine.transfers.release(tx, id, { actor, reason })))
        throw refusal(409, `The transfer ${id} is not held, blocked or waiting.`, 'conflict')
      return true
    },
  },
  {
    ...{ name: 'cancel', permission: 'act', summary: 'Cancels all transfers of a filter, or none' },
    stages: ['queued', 'held', 'awaiting_funds', 'blocked'],
    run: async ({ engine }, tx, { id }, { actor, reason }) => {
      await engine.transfers.cancel(tx, id, { actor, reason })
      return true
    },
  },
  {
    ...{ name: 'approve', permission: 'approve', summary: 'Approves all transfers of a filter, or none' },
    stages: ['held'],
    run: async ({ engine }, tx, { id }, { actor, roles, reason }) => {
      await engine.transfers.approve(tx, id, { actor, roles, note: reason })
      return true
    },
  },
  {
    ...{ name: 'reject', permission: 'approve', summary: 'Rejects all transfers of a filter, or none' },
    stages: ['held'],
    run: async ({ engine }, tx, { id }, { actor, reason }) => {
      await engine.transfers.reject(tx, id, { actor, reason })
      return true
    },
  },
]

/** What a dry run shows: the digest changes with the action, with each transfer that enters or leaves, and with the state of each. */
function describe({ name, stages }: BulkAction, transfers: readonly StoredTransfer[]) {
  const hash = createHash('sha256').update(name)
  for (const { id, stage, status, reason, request, updatedAt } of transfers)
    hash.update(
      `\n${JSON.stringify([id, stage, status, reason, request.amount.value, request.amount.currency, updatedAt])}`,
    )
  const totals = sumTotals(
    transfers.map(({ status, request: { amount } }) => ({
      ...{ currency: amount.currency, status, count: 1, amount: amount.value },
    })),
  )
  return {
    ...{ count: transfers.length, totals, digest: hash.digest('hex') },
    accounts: new Set(transfers.map(({ accountId }) => accountId)).size,
    sample: transfers.slice(0, 10).map(({ id }) => id),
    unfit: transfers.filter(({ stage }) => !stages.includes(stage)).length,
  }
}

function bulkRoute(action: BulkAction) {
  const { name, permission, summary, run } = action
  return route({
    ...{ tag: 'Bulk actions', method: 'post', about: 'accounts', permission, summary },
    id: `${name}Transfers`,
    path: `/bulk/transfers/${name}` as const,
    body: bulkBody,
    answer: bulkSchema,
    async handle({ context, person, subject, signal, body: { filter, dryRun, expected, reason } }) {
      if (Object.values(filter).every((one) => one === undefined))
        throw new OutlayError('missing_field', 'The filter is empty; name at least one member.', { field: 'filter' })
      if (dryRun === true) {
        const found = await collectTransfers(context, subject, filter, { most: mostInBulk, signal })
        return { done: false, unchanged: 0, ...describe(action, found) }
      }
      if (expected === undefined)
        throw new OutlayError('missing_field', 'Send dryRun, or what the dry run has shown.', { field: 'expected' })
      if (reason === undefined)
        throw new OutlayError('missing_field', 'is required: why, for the audit', { field: 'reason' })
      return context.act(person.actor, async (tx, record) => {
        const collect = () => collectTransfers(context, subject, filter, { most: mostInBulk, signal }, tx)
        // In the order of their ids, so that two actions at once do not wait for each other in a circle. They are compared behind the lock, with what others have
        // written until they gave it up.
        await context.lockTransfers(
          tx,
          (await collect()).map(({ id }) => id),
        )
        const found = await collect()
        const described = describe(action, found)
        if (described.digest !== expected.digest || described.count !== expected.count)
          throw refusal(409, 'These are other transfers than the dry run has shown, or they have changed.', 'conflict')
        const unchanged: string[] = []
        for (const transfer of found) {
          // Nobody waits for it any more: nothing of it is done.
          signal.throwIfAborted()
          if (!(await run(context, tx, transfer, { ...person, reason }))) unchanged.push(transfer.id)
        }
        const { count, digest } = described
        const after = { filter, count, digest, ...(unchanged.length === 0 ? {} : { unchanged }) }
        await record({ command: `transfers.bulk_${name}`, reason, after })
        return { done: true, unchanged: unchanged.length, ...described }
      })
    },
  })
}

/** Actions on all transfers of a filter. */
export const bulkActions = actions.map(bulkRoute)
