import { findUnfinishedMoves, type UnfinishedMove } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import type { Session } from '../session/session.ts'
import { type Finding, serious, warning } from './finding.ts'

/** A move that began longer ago has been interrupted, or has very much to copy, in milliseconds. */
const longMs = 300_000

/** Finds accounts that are on no node, since nobody has gone on with their move, and copies of accounts that nobody has gone on with. */
export async function diagnoseMoves({ driver, schema }: Session): Promise<readonly Finding[]> {
  const found = await findUnfinishedMoves(driver, schema, longMs)
  const isCopy = ({ state }: UnfinishedMove) => state === 'expecting'
  const moving = describe(
    found.filter((one) => !isCopy(one)),
    ({ accountId, ageMs, toNode }, more) =>
      serious(
        'move_unfinished',
        `The account ${accountId} is between two nodes for ${formatDuration(ageMs)}${more}: nothing is enqueued or sent for it.`,
        `Run "outlay accounts move ${accountId} --to ${toNode}" with --shards, unless it runs already: it goes on where it was.`,
      ),
  )
  const copied = describe(found.filter(isCopy), ({ accountId, ageMs, toNode }, more) =>
    warning(
      'move_copy',
      `Rows of the account ${accountId} have been here for ${formatDuration(ageMs)} as a copy${more}: its move has not begun the pause, and the account is on its own node as ever.`,
      `Run "outlay accounts move ${accountId} --to ${toNode}" with --shards, unless it runs already; with --to its own node it drops the copy.`,
    ),
  )
  return [...moving, ...copied]
}

function describe(
  [first, ...others]: readonly UnfinishedMove[],
  finding: (first: UnfinishedMove, more: string) => Finding,
): readonly Finding[] {
  if (first === undefined) return []
  return [finding(first, others.length === 0 ? '' : `, and so are ${others.length} more`)]
}
