import {
  type Audit,
  type AuditRecord,
  canonicalJson,
  type LimitUse,
  type LimitVersion,
  OutlayError,
  type Policies,
  type Policy,
  type PolicyVersion,
  type SumLimits,
} from '@outlay/core'
import { checkNames } from '@outlay/core/adapter'
import { type MissingNode, type NodeAnswers, runAll } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-parts.ts'

type SetNote = Parameters<Policies<unknown>['set']>[2]

/** Who sets policies on all nodes, and why. */
export interface ShardPolicyNote extends Omit<SetNote, 'expectedVersion'> {
  /** The version that these replace, by the name of the node: another one there is refused on that node. Default: any. */
  readonly expectedVersions?: Readonly<Record<string, number>> | undefined
}

/** Which nodes have the same policies. */
export interface PolicyComparison {
  /** True where at least two nodes have other policies than each other: what is held on one passes on the other. */
  readonly differ: boolean
  /** Nodes with the same policies, and these; one where no nodes differ. The order of policies makes no difference. */
  readonly groups: readonly { readonly nodes: readonly string[]; readonly policies: readonly Policy[] }[]
  /** Nodes that did not answer: they may differ. */
  readonly missing: readonly MissingNode[]
}

/** Policies over nodes: each database has its own, which hold for the accounts on it. Set the same on every node. */
export interface ShardPolicies<Tx> extends Pick<Policies<Tx>, 'set'> {
  /**
   * Sets policies on every node, in a transaction of each: there is none over all of them, so some may have them and others not. What each node answered is
   * in the result. A node that is missing in it may have them, or get them late: compare, and set them again there.
   * @throws OutlayError `invalid_request`, `missing_field` with the field, before any node is written
   */
  setAll(
    policies: readonly Policy[],
    note: ShardPolicyNote,
  ): Promise<NodeAnswers<Awaited<ReturnType<Policies<Tx>['set']>>>>
  /** Makes on every node what policies about earlier transfers need, as `prepare` of an engine does, for as long as that takes. It may be called again. */
  prepare(): Promise<NodeAnswers<'prepared'>>
  /** Says which nodes have the same policies. */
  compare(): Promise<PolicyComparison>
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
export function createShardPolicies<Tx>(
  { routing, questions }: ShardParts<Tx>,
  nodes: readonly LimitedNode<Tx>[],
): ShardPolicies<Tx> {
  return {
    set: async (tx, policies, note) => (await routing.nodeBy(tx)).engine.policies.set(tx, policies, note),
    async setAll(policies, given) {
      const { expectedVersions, ...note } = readNote(given, nodes)
      const set = await questions.askAll(({ name, driver, engine }) => {
        const expectedVersion = Object.hasOwn(expectedVersions, name) ? expectedVersions[name] : undefined
        return driver.transaction((tx) => engine.policies.set(tx, policies, { ...note, expectedVersion }))
      })
      // What is wrong with the list is wrong everywhere, and is found before any SQL.
      const wrong = set.missing.find(({ error }) => isMisuse(error))
      if (wrong !== undefined) throw wrong.error
      return set
    },
    prepare: () =>
      runAll(questions, async ({ engine }) => {
        await engine.policies.prepare()
        return 'prepared' as const
      }),
    async compare() {
      const { answers, missing } = await questions.askAll(({ engine }) => engine.policies.get())
      const found = Object.entries(answers).map(([node, version]) => ({ node, policies: version?.policies ?? [] }))
      const groups = groupPolicies(found)
      return { differ: groups.length > 1, groups, missing }
    },
    get: (options = {}) => questions.askAll(({ engine }) => engine.policies.get({ version: options.version })),
  }
}

const isMisuse = (error: unknown): boolean =>
  OutlayError.is(error, 'invalid_request') || OutlayError.is(error, 'missing_field')

function readNote<Tx>(given: ShardPolicyNote, nodes: readonly LimitedNode<Tx>[]) {
  checkNames(given ?? {}, ['actor', 'reason', 'clear', 'expectedVersions'])
  const names = nodes.map(({ name }) => name)
  checkNames(given?.expectedVersions, names, 'expectedVersions')
  return { ...given, expectedVersions: given?.expectedVersions ?? {} }
}

/** Puts nodes together that have the same policies, in whatever order. */
export function groupPolicies(
  found: readonly { readonly node: string; readonly policies: readonly Policy[] }[],
): PolicyComparison['groups'] {
  const groups = new Map<string, { readonly nodes: string[]; readonly policies: readonly Policy[] }>()
  for (const { node, policies } of found) {
    const key = policies
      .map((policy) => canonicalJson(policy))
      .sort()
      .join('\n')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { nodes: [node], policies })
    else group.nodes.push(node)
  }
  return [...groups.values()]
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
