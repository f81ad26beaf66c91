import { moveRefused } from './account-move-check.ts'
import type { DirectoryMove, DirectoryMoves } from './account-move-directory.ts'
import type { MoveNode, NodePlace } from './account-move-node.ts'
import { isUnreachable } from './node-reachability.ts'

/**
 * Asks both nodes where a move stands that has not switched the route as the directory says, and corrects a directory that has lost that. Of an earlier call's move,
 * a node that does not answer is not asked: without the other one nothing can become of it but what that one allows. Gives the move as it is then.
 * @throws OutlayError `node_unavailable` where one does not answer about a move that begins with this call; `conflict` where the account is neither on the one nor on the way to the other
 */
export async function agreeWithNodes(
  move: DirectoryMove,
  from: MoveNode,
  to: MoveNode,
  moves: DirectoryMoves,
  isNew: boolean,
): Promise<DirectoryMove> {
  const { id, accountId } = move
  const [here, there] = await Promise.all([placeAt(from, accountId, isNew), placeAt(to, accountId, isNew)])
  const version = handedOver(move, to.name, here, there)
  if (version !== undefined) {
    await moves.correct(accountId, id, version)
    return (await moves.open(accountId)) ?? move
  }
  const refuse = (why: string) =>
    moveRefused(
      accountId,
      `${why} The directory may have been restored to an earlier time; correct its row of the account.`,
    )
  for (const [name, place] of [
    [from.name, here],
    [to.name, there],
  ] as const)
    if (place !== undefined && BigInt(place.version) > BigInt(id))
      throw refuse(`the node "${name}" knows of a later move than this one.`)
  if (here !== undefined && here.version !== id && isAway.has(here.state))
    throw refuse(`it is not on "${from.name}", which gave it to "${here.toNode}" earlier.`)
  if (there !== undefined && there.version !== id && !isAway.has(there.state) && !isComing.has(there.state))
    throw refuse(`it is on "${to.name}" already, and not on "${from.name}".`)
  return move
}

/** States of a node that an account has left. */
const isAway: ReadonlySet<string> = new Set(['handed_over', 'departed'])

/** States of a node that an account comes to. */
const isComing: ReadonlySet<string> = new Set(['expecting', 'arriving'])

/** The move by which the nodes say that the account is given to the new one; undefined where they do not say so. */
function handedOver(
  { id }: DirectoryMove,
  to: string,
  here: NodePlace | undefined,
  there: NodePlace | undefined,
): string | undefined {
  const hasIt = (place: NodePlace) => place.state === 'unpacking' || place.state === 'here'
  if (there !== undefined && there.version === id && hasIt(there)) return id
  if (here === undefined || !isAway.has(here.state) || here.toNode !== to) return undefined
  if (here.version === id) return id
  // A directory that does not know the move any more has begun another one.
  const isSame = there !== undefined && there.version === here.version
  return isSame && (hasIt(there) || isComing.has(there.state)) ? here.version : undefined
}

async function placeAt(node: MoveNode, accountId: string, isNeeded: boolean): Promise<NodePlace | undefined> {
  try {
    return await node.place(accountId)
  } catch (error) {
    if (!isNeeded && isUnreachable(error)) return undefined
    throw error
  }
}
