import type { MoveNode } from './account-move-node.ts'
import { inTime, type MoveRun, slice } from './account-move-run.ts'

/** Puts all that the account has into the tables of a node, which accepts it from then on. */
export async function unpackAccount(run: MoveRun, node: MoveNode, at: 'arriving' | 'returning'): Promise<void> {
  const { accountId, id } = run.move
  for (let done = 0; ; ) {
    const isEnded = await node.end(accountId, id, at, 'here')
    if (isEnded !== false) return void inTime(isEnded)
    done += inTime(await node.unpack(accountId, id, at, slice.transfers))
    run.report(at === 'arriving' ? 'unpacking' : 'returning', done)
  }
}

/** Drops what a node kept of an account that is on the other one, and refuses the account there from then on. */
export async function clearAccount(run: MoveRun, node: MoveNode, at: 'packed' | 'departed'): Promise<void> {
  const { accountId, id } = run.move
  for (let done = 0; ; ) {
    const isEnded = await node.end(accountId, id, at, 'departed')
    if (isEnded !== false) return void inTime(isEnded)
    done += inTime(await node.discard(accountId, id, at, slice.discarded))
    run.report('clearing', done)
  }
}
