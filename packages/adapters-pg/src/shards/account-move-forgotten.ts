import { clearAccount, unpackAccount } from './account-move-arriving.ts'
import { moveRefused } from './account-move-check.ts'
import type { DirectoryMove } from './account-move-directory.ts'
import type { MoveNode, NodePlace } from './account-move-node.ts'
import { type AccountMoveOptions, createMoveRun, inTime, type MoveRun } from './account-move-run.ts'
import { isUnreachable } from './node-reachability.ts'

/**
 * Sees to it that an account is on the node that the directory names, where that has no open move of it. A node that says otherwise knows of a move that the directory has
 * forgotten, as one that was restored: the account is taken back as long as it was not handed over, and what has begun to arrive is ended.
 * @returns `there` when it was there already, or has arrived; `returned` when it was taken back
 * @throws OutlayError `conflict` where it is on another node, or on its way from one; `node_unavailable`
 */
export async function keepAccount(
  nodes: ReadonlyMap<string, MoveNode>,
  node: MoveNode,
  accountId: string,
  options: AccountMoveOptions,
): Promise<'there' | 'returned'> {
  const place = await node.place(accountId)
  if (place === undefined || place.state === 'here') return 'there'
  const move = forgottenMove(accountId, node.name, place)
  const here = createMoveRun(move, node, node, options)
  const others = [...nodes.values()].filter((one) => one !== node).map((one) => createMoveRun(move, node, one, options))
  if (place.state === 'unpacking') {
    await unpackAccount(here, node, 'unpacking')
    for (const other of others) await clearOther(other, 'handed_over')
    return 'there'
  }
  if (!/^(leaving|packed|returning)$/.test(place.state)) throw moveRefused(accountId, whereElse(node.name, place))
  inTime(await node.back(accountId, node.name, move.id))
  await unpackAccount(here, node, 'returning')
  for (const other of others) await clearOther(other, 'departed')
  return 'returned'
}

/** Drops what the other node of a forgotten move has of it. One that does not answer drops it with the next move. */
async function clearOther(run: MoveRun, at: 'handed_over' | 'departed'): Promise<void> {
  const { to, from, move } = run
  try {
    if ((await to.place(move.accountId))?.version !== move.id) return
    if (at === 'departed') inTime(await to.back(move.accountId, from.name, move.id))
    await clearAccount(run, to, at)
  } catch (error) {
    if (!isUnreachable(error)) throw error
  }
}

const forgottenMove = (accountId: string, fromNode: string, { version, toNode }: NodePlace): DirectoryMove => ({
  ...{ id: version, accountId, fromNode, toNode, state: 'returning', actor: null, reason: null },
  ...{ transfers: null, pauseMs: null, totalMs: null },
})

/** What to do about an account that is not on the node that the directory names. */
function whereElse(name: string, { state, toNode }: NodePlace): string {
  return state === 'handed_over' || state === 'departed'
    ? `the directory names "${name}", which gave it to "${toNode}"; move it to "${toNode}", which corrects that.`
    : `the directory names "${name}", to which it is only on its way; correct its row in the directory, and move it again.`
}
