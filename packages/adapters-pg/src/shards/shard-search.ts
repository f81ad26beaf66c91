import type { StoredTransfer, TransferPage } from '@outlay/core'
import type { MissingNode, NodeAnswers } from './node-answers.ts'

/** A page of the transfers of all nodes, the newest first. */
export interface ShardPage extends TransferPage {
  /** Nodes whose transfers are not on this page; empty when every node has answered. */
  readonly missing: readonly MissingNode[]
}

/**
 * Merges pages that begin at the same cursor. A node that has more has searched down to its own cursor only, so the merged page ends at the
 * newest of these; what the nodes found below comes on the next page again.
 */
export function mergePages({ answers, missing }: NodeAnswers<TransferPage>, limit: number): ShardPage {
  const pages = Object.values(answers)
  const ends = pages.flatMap(({ nextCursor }) => nextCursor ?? [])
  const end = ends.reduce<string | null>((newest, one) => (newest === null || one > newest ? one : newest), null)
  const all = pages.flatMap(({ transfers }) => transfers).sort(byNewest)
  const certain = end === null ? all : all.filter(({ id }) => id >= end)
  const transfers = certain.slice(0, limit)
  const isCut = transfers.length < certain.length
  return { transfers, nextCursor: isCut ? (transfers.at(-1)?.id ?? end) : end, missing }
}

const byNewest = (a: StoredTransfer, b: StoredTransfer): number => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
