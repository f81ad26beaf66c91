import { type Engine, OutlayError } from '@outlay/core'
import { accountMoving, type NodeGuard } from './node-guard.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-parts.ts'

/** Commands and reads of what moves with its account: one between two nodes is on none, which does not mean that there is none. */
export interface MovingSubject<Tx> {
  /**
   * Runs a command on the node of the transaction.
   * @throws OutlayError `account_moving` where what it names is between two nodes; what the command throws
   */
  command<T>(tx: Tx, id: string, run: (engine: Engine<Tx>) => Promise<T>): Promise<T>
  /**
   * Reads on the node of the transaction, or without one on all nodes.
   * @throws OutlayError `account_moving`, likewise, where it would have found nothing
   */
  read<T>(tx: Tx | undefined, id: string, run: (engine: Engine<Tx>) => Promise<T | undefined>): Promise<T | undefined>
}

/** What a command throws that does not find a thing of this kind. */
const unknownCodes = { transfer: 'transfer_not_found', batch: 'not_found' } as const

/** Makes the commands and reads of things of one kind. */
export function createMovingSubject<Tx>(
  { routing, questions, guard }: ShardParts<Tx>,
  kind: keyof typeof unknownCodes,
): MovingSubject<Tx> {
  const refuseMoving = (isMoving: boolean | undefined, id: string) => {
    if (isMoving === true) throw accountMoving(`of the ${kind} ${id}`)
  }
  return {
    async command(tx, id, run) {
      const { engine } = await routing.nodeBy(tx)
      try {
        return await run(engine)
      } catch (error) {
        if (OutlayError.is(error, unknownCodes[kind])) refuseMoving(await guard.isMoving({ tx }, id), id)
        throw error
      }
    },
    async read(tx, id, run) {
      const ask = async () =>
        tx === undefined ? questions.askAny(({ engine }) => run(engine)) : run((await routing.nodeBy(tx)).engine)
      const found = await ask()
      if (found !== undefined) return found
      const isMoving =
        tx === undefined
          ? await questions.askAny(async ({ driver }) => (await guard.isMoving({ driver }, id)) || undefined)
          : await guard.isMoving({ tx }, id)
      refuseMoving(isMoving, id)
      // It may have arrived on the other node since.
      return tx === undefined ? ask() : undefined
    },
  }
}

/** Reads what an account has on a node that has the account before and afterwards: while it arrives or leaves, only a part of it may be there. */
export async function whileHere<Tx, T>(
  guard: NodeGuard<Tx>,
  { name, driver }: LimitedNode<Tx>,
  accountId: string,
  read: () => Promise<T>,
): Promise<T> {
  await guard.checkCommitted(driver, name, accountId)
  const found = await read()
  await guard.checkCommitted(driver, name, accountId)
  return found
}
