import { Policy } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { restoreHidden } from './hidden-texts.ts'
import { inList } from './in-list.ts'

/** Policies that somebody writes, and has not set. */
export const draftSchema = component(
  'PolicyDraft',
  z.strictObject({
    policies: z.array(z.record(z.string(), z.unknown())).max(1_000),
    expectedVersion: z.int().min(0).optional().meta({
      description:
        'The version that these would replace: texts that are not shown are those of it. Default: the newest.',
    }),
  }),
)

/**
 * Reads a draft as the engine reads policies that are set.
 * @throws OutlayError with every field that breaks a rule, such as `policies.0.when.amounts.USD.from`
 */
export async function readDraft(
  { policies, expectedVersion }: z.output<typeof draftSchema>,
  { reads, catalog, shownMetadata }: ConsoleContext,
): Promise<readonly Policy[]> {
  const replaced = (await reads.policies.get({ version: expectedVersion }))?.policies ?? []
  const restored = restoreHidden(policies, replaced, shownMetadata)
  return inList('policies', () => Policy.parseAll(restored.policies, catalog), restored.issues)
}
