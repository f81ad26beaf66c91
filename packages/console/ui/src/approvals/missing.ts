import type { Answer } from '../api/client.ts'

type Missing = Answer<'GET /transfers/:transferId'>['held']['missing']

/** Writes which approvals are missing, such as `2 of anybody, 1 of finance`. There is one step for each, however many the step takes in all. */
export const writeMissing = (missing: Missing): string =>
  [...Map.groupBy(missing, ({ roles }) => roles?.join(' or ') ?? 'anybody')]
    .map(([whom, ones]) => `${ones.length} of ${whom}`)
    .join(', ')
