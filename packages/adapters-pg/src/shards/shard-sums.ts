import type { Archived, Backlog } from '@outlay/core'
import type { MissingNode, NodeAnswers } from './node-answers.ts'

/** The sum of the backlogs of the nodes that answered. */
export interface ShardBacklog extends Backlog {
  /** Each by the name of its node. */
  readonly nodes: Readonly<Record<string, Backlog>>
  /** Nodes that the sum lacks; empty when every node has answered. */
  readonly missing: readonly MissingNode[]
}

/** The sum of what was archived on the nodes that answered. */
export interface ShardArchived extends Archived {
  /** Each by the name of its node. */
  readonly nodes: Readonly<Record<string, Archived>>
  /** Nodes that did not answer or failed on the way; what they had archived until then stays archived. */
  readonly missing: readonly MissingNode[]
}

/** Adds up backlogs. */
export function sumBacklogs({ answers, missing }: NodeAnswers<Backlog>): ShardBacklog {
  const all = Object.values(answers)
  const sum = (member: keyof Backlog) => all.reduce((total, one) => total + one[member], 0)
  return {
    held: sum('held'),
    queued: sum('queued'),
    submitting: sum('submitting'),
    awaitingFunds: sum('awaitingFunds'),
    submitted: sum('submitted'),
    blocked: sum('blocked'),
    settled: sum('settled'),
    undelivered: sum('undelivered'),
    deadLetters: sum('deadLetters'),
    nodes: answers,
    missing,
  }
}

/** The sum of results of archiving. */
export function addUp(all: readonly Archived[]): Archived {
  const sum = (member: 'archived' | 'held' | 'referenced') => all.reduce((total, one) => total + one[member], 0)
  return {
    archived: sum('archived'),
    held: sum('held'),
    heldBy: [...new Set(all.flatMap(({ heldBy }) => heldBy))].sort(),
    referenced: sum('referenced'),
  }
}
