import { z } from 'zod'
import { component } from '../component.ts'
import { foreignText } from '../redaction.ts'

const stepSchema = z.object({ count: z.int().optional(), roles: z.array(z.string()).optional() })

/** What holds a transfer, who approved it, and which approvals are missing. */
export const heldSchema = component(
  'Held',
  z.object({
    createdBy: z.string().nullable(),
    holds: z.array(
      z.object({
        name: z.string(),
        policy: z.string().optional(),
        policyVersion: z.int().optional(),
        why: foreignText,
        actor: z.string().optional(),
        since: z.string(),
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
    missing: z.array(stepSchema),
  }),
)
