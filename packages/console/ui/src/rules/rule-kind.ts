import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Json, RuleProblem } from './rule-json.ts'

/** A version of policies or of limits. */
export interface RuleVersion {
  readonly version: number
  readonly list: readonly Json[]
  readonly setAt: string | null
  readonly actor: string | null
  readonly reason: string | null
}

/** What the form of one entry gets. */
export interface RuleFormProps<C> {
  readonly json: Json
  readonly problems: readonly RuleProblem[]
  readonly choices: C
  readonly onChange: (json: Json) => void
}

/** Rules that are set all at once, each time as a new version: policies, or limits on sums. */
export interface RuleKind<C extends { readonly zones: readonly string[] }> {
  readonly noun: 'policy' | 'limit'
  readonly nouns: 'policies' | 'limits'
  /** What it means that there are none. */
  readonly empty: string
  /** What becomes of what was enqueued before others are set. */
  readonly afterwards: string
  /** True where they can be moved. */
  readonly isOrdered: boolean
  /** What one may begin as, by its words. */
  readonly templates: Readonly<Record<string, Json>>
  readonly useVersion: (version?: number) => UseQueryResult<RuleVersion>
  readonly useChoices: () => UseQueryResult<C>
  readonly set: (
    list: readonly Json[],
    expectedVersion: number,
    reason: string,
  ) => Promise<{ readonly version: number }>
  readonly Form: (props: RuleFormProps<C>) => ReactNode
  readonly Meaning: (props: { readonly json: Json }) => ReactNode
  /** What can be tried with a draft before it is set. */
  readonly Trial?: (props: { readonly list: readonly Json[]; readonly version: number }) => ReactNode
}
