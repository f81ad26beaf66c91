import type { Hold } from '@outlay/core'
import { z } from 'zod'
import type { Accounts } from '../authorization/scope.ts'
import { component } from '../component.ts'
import { describeLimit, isSumShown } from '../limit-sums.ts'
import { foreignText } from '../redaction.ts'

const stepSchema = z.object({ count: z.int().optional(), roles: z.array(z.string()).optional() })

/** What holds a transfer, who approved it, and which approvals are missing. */
export const heldSchema = component(
  'Held',
  z.object({
    createdBy: z.string().nullable(),
    earlierCreators: z.array(z.string()).optional().meta({
      description: 'Who created the transfers in whose place it was resubmitted: they do not approve it either.',
    }),
    holds: z.array(
      z.object({
        name: z.string(),
        policy: z.string().optional(),
        policyVersion: z.int().optional(),
        why: foreignText,
        limit: z
          .object({
            name: z.string(),
            span: z.string(),
            zone: z.string(),
            until: z.string().meta({ description: 'When the sum starts at nothing again.' }),
            fitsAt: z.string().optional().meta({ description: 'Absent where somebody has to release it.' }),
            sum: z
              .object({
                currency: z.string(),
                most: z.string(),
                used: z.string(),
                amount: z
                  .string()
                  .optional()
                  .meta({ description: 'What this one needs; absent where nobody knows it.' }),
              })
              .optional()
              .meta({ description: 'Absent for who may not read all accounts of which the sum is.' }),
          })
          .optional()
          .meta({ description: 'The limit on a sum beyond which it is.' }),
        actor: z.string().optional(),
        since: z.string(),
        screening: z
          .object({
            case: foreignText.optional(),
            isOnHold: z.boolean(),
            asks: z.int(),
            failures: z.int(),
            failingSince: z.string().optional(),
            lastError: foreignText.optional(),
          })
          .optional()
          .meta({ description: 'Of the hold for screening: how far that is.' }),
        requirement: z.object({ steps: z.array(stepSchema), inOrder: z.boolean() }).optional(),
      }),
    ),
    approvals: z.array(
      z.object({
        actor: z.string(),
        roles: z.array(z.string()),
        note: foreignText.optional(),
        at: z.string(),
      }),
    ),
    screenings: z
      .array(
        z.object({
          result: z.string(),
          case: foreignText.optional(),
          note: foreignText.optional(),
          by: z.string(),
          isCounted: z.boolean(),
          fingerprint: z.string(),
          at: z.string(),
        }),
      )
      .optional()
      .meta({ description: 'Answers of the screening, the oldest first.' }),
    missing: z.array(stepSchema).meta({
      description: 'One step for each approval that is missing. Its `count` is how many the step takes in all.',
    }),
  }),
)

/** What is shown of what holds a transfer: of a sum that has other accounts in it, how much is used only to who may read them all. */
export const viewHeld = <Held extends { readonly holds: readonly Hold[] }>(held: Held, read: Accounts) => ({
  ...held,
  holds: held.holds.map((hold) => viewHold(hold, read)),
})

function viewHold({ excess, ...hold }: Hold, read: Accounts) {
  if (excess === undefined) return hold
  const { limit: name, span, zone, until, fitsAt, currency, most, used, amount } = excess
  const times = { name, span, zone, until, ...(fitsAt === undefined ? {} : { fitsAt }) }
  const sum = { currency, most, used, ...(amount === undefined ? {} : { amount }) }
  return { ...hold, why: describeLimit(name, span), limit: isSumShown(excess, read) ? { ...times, sum } : times }
}
