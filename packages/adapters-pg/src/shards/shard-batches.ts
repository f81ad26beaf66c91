import type { Batches } from '@outlay/core'
import { createMovingSubject, whileHere } from './moving-subject.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-parts.ts'
import { isAccountId } from './shard-routing.ts'

/** Creates the commands of batches: a batch is on the node in whose transaction it was created, and moves with its account. */
export function createShardBatches<Tx>(parts: ShardParts<Tx>): Batches<Tx> {
  const { routing, questions, guard } = parts
  const { command, read } = createMovingSubject(parts, 'batch')
  return {
    async create(tx, batch) {
      const accountId = batch?.accountId
      if (accountId === undefined) return (await routing.nodeBy(tx)).engine.batches.create(tx, batch)
      return routing.checked(tx, accountId, ({ engine }) => engine.batches.create(tx, batch))
    },
    get: (batchId, tx) => read(tx, batchId, ({ batches }) => batches.get(batchId, tx)),
    async getByKey(key, options = {}) {
      const { accountId, tx } = options
      if (tx !== undefined) {
        const { name, engine } = await routing.nodeBy(tx)
        // A move that begins after this waits for the transaction.
        if (isAccountId(accountId)) await guard.check(tx, name, [accountId])
        return engine.batches.getByKey(key, options)
      }
      const ask = ({ engine }: LimitedNode<Tx>) => engine.batches.getByKey(key, options)
      // One of no account does not move.
      if (accountId === undefined) return questions.askAny(ask)
      return routing.at(accountId, (node) =>
        questions.askOne(node, async (one) => {
          const found = await ask(one)
          if (found !== undefined || !isAccountId(accountId)) return found
          return whileHere(guard, one, accountId, () => ask(one))
        }),
      )
    },
    review: (batchId, tx) => read(tx, batchId, ({ batches }) => batches.review(batchId, tx)),
    close: (tx, batchId, note) => command(tx, batchId, ({ batches }) => batches.close(tx, batchId, note)),
    cancel: (tx, batchId, note) => command(tx, batchId, ({ batches }) => batches.cancel(tx, batchId, note)),
    approve: (tx, batchId, approval) => command(tx, batchId, ({ batches }) => batches.approve(tx, batchId, approval)),
    pause: (tx, batchId, note) => command(tx, batchId, ({ batches }) => batches.pause(tx, batchId, note)),
    resume: (tx, batchId, note) => command(tx, batchId, ({ batches }) => batches.resume(tx, batchId, note)),
  }
}
