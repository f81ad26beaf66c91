import type { Audit, AuditRecord, LimitUse, LimitVersion, Policies, PolicyVersion, SumLimits } from '@outlay/core'
import type { NodeAnswers } from './node-answers.ts'
import type { ShardParts } from './shard-transfers.ts'

/** Policies over nodes: each database has its own, which hold for the accounts on it. Set the same on every node. */
export interface ShardPolicies<Tx> extends Pick<Policies<Tx>, 'set'> {
  /** The policies of each node, or an earlier version of each; `undefined` where there is no such version. */
  get(options?: { readonly version?: number | undefined }): Promise<NodeAnswers<PolicyVersion | undefined>>
}

/** Limits on sums over nodes: each database has its own, and counts what it sends itself. A limit of the whole host is one of each node. */
export interface ShardLimits<Tx> extends Pick<SumLimits<Tx>, 'set'> {
  /** The limits of each node, or an earlier version of each; `undefined` where there is no such version. */
  get(options?: { readonly version?: number | undefined }): Promise<NodeAnswers<LimitVersion | undefined>>
  /** What is used on each node. */
  uses(options?: {
    readonly limit?: string | undefined
    readonly most?: number | undefined
  }): Promise<NodeAnswers<readonly LimitUse[]>>
}

/** Who did what, on each node. */
export interface ShardAudit<Tx> {
  /** Entries of each node, the newest first. */
  list(query?: Parameters<Audit<Tx>['list']>[0]): Promise<NodeAnswers<readonly AuditRecord[]>>
}

/** Creates the commands of policies. */
export function createShardPolicies<Tx>({ routing, questions }: ShardParts<Tx>): ShardPolicies<Tx> {
  return {
    set: async (tx, policies, note) => (await routing.nodeBy(tx)).engine.policies.set(tx, policies, note),
    get: (options = {}) => questions.askAll(({ engine }) => engine.policies.get({ version: options.version })),
  }
}

/** Creates the commands of limits on sums. */
export function createShardLimits<Tx>({ routing, questions }: ShardParts<Tx>): ShardLimits<Tx> {
  return {
    set: async (tx, limits, note) => (await routing.nodeBy(tx)).engine.limits.set(tx, limits, note),
    get: (options = {}) => questions.askAll(({ engine }) => engine.limits.get({ version: options.version })),
    uses: ({ limit, most } = {}) => questions.askAll(({ engine }) => engine.limits.uses({ limit, most })),
  }
}

/** Creates the reads of the audit. */
export function createShardAudit<Tx>({ questions }: ShardParts<Tx>): ShardAudit<Tx> {
  return { list: (query) => questions.askAll(({ engine }) => engine.audit.list(query)) }
}
