import type { MoveNode } from './account-move-node.ts'
import { inTime, type MoveRun, slice } from './account-move-run.ts'

/** Puts all that the account has into the tables of a node, which accepts it from then on. */
export async function unpackAccount(run: MoveRun, node: MoveNode, at: 'unpacking' | 'returning'): Promise<void> {
  const { accountId, id } = run.move
  let isEmpty = false
  for (let done = 0; ; ) {
    const isEnded = await node.end(accountId, id, at, 'here')
    if (isEnded !== false) return void inTime(isEnded)
    const count = inTime(await node.unpack(accountId, id, at, slice.transfers))
    // Another process may have unpacked the last rows since; a second time it is something else.
    if (count === 0 && isEmpty) throw await unknownRows(node, accountId)
    isEmpty = count === 0
    done += count
    run.report(at, done)
  }
}

async function unknownRows(node: MoveNode, accountId: string): Promise<Error> {
  const kinds = await node.kinds(accountId)
  return new Error(
    `Rows of the account ${accountId} on "${node.name}" are of tables that this release does not know: ${kinds.join(', ')}. It stays between the nodes; finish the move with the release that began it.`,
  )
}

/** Drops what a node kept of an account that is on the other one, and refuses the account there from then on. */
export async function clearAccount(run: MoveRun, node: MoveNode, at: 'handed_over' | 'departed'): Promise<void> {
  const { accountId, id } = run.move
  for (let done = 0; ; ) {
    const isEnded = await node.end(accountId, id, at, 'departed')
    if (isEnded !== false) return void inTime(isEnded)
    done += inTime(await node.discard(accountId, id, at, slice.discarded))
    run.report('clearing', done)
  }
}
