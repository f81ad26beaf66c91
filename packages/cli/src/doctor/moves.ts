import { findUnfinishedMoves } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import type { Session } from '../session/session.ts'
import { type Finding, serious } from './finding.ts'

/** A move that began longer ago has been interrupted, or has very much to copy, in milliseconds. */
const longMs = 300_000

/** Finds accounts that are on no node, since nobody has gone on with their move. */
export async function diagnoseMoves({ driver, schema }: Session): Promise<readonly Finding[]> {
  const [first, ...others] = await findUnfinishedMoves(driver, schema, longMs)
  if (first === undefined) return []
  const more = others.length === 0 ? '' : `, and so are ${others.length} more`
  return [
    serious(
      'move_unfinished',
      `The account ${first.accountId} is between two nodes for ${formatDuration(first.ageMs)}${more}: nothing is enqueued or sent for it.`,
      `Run "outlay accounts move ${first.accountId} --to ${first.toNode}" with --shards, unless it runs already: it goes on where it was.`,
    ),
  ]
}
