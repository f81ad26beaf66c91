import { setTimeout as delay } from 'node:timers/promises'
import { seededRandom } from '@outlay/testing'
import { payoutOf } from '../site/customer.ts'
import type { ShardSite } from './shard-site.ts'

/** Transactions that may be open at once. */
const mostOpen = 12

/** A host that writes payouts over all nodes, each with a row of its own. */
export interface ShardWriter {
  /** Payouts whose commit was answered. */
  readonly promised: ReadonlySet<number>
  /** Ends it when its open transactions have ended. */
  stop(): Promise<void>
}

/** Starts one, with so many transactions a second. */
export function startShardWriter({ host, customers }: ShardSite, seed: number, rate: number): ShardWriter {
  const { fraction } = seededRandom(seed)
  const promised = new Set<number>()
  const open = new Set<Promise<void>>()
  let isStopping = false
  let number = 0
  const write = async (): Promise<void> => {
    number += 1
    const own = number
    const customer = customers[Math.floor(fraction() * customers.length)]
    if (customer === undefined) throw new Error('There are no customers.')
    const request = payoutOf(customer, own, 100 + Math.floor(fraction() * 4_900))
    await host.shards.transaction(customer.accountId, async (tx) => {
      const { id } = await host.shards.transfers.enqueue(tx, request)
      await tx.query('insert into payout (number, transfer_id, account_id) values ($1, $2, $3)', [
        ...[own, id, customer.accountId],
      ])
    })
    promised.add(own)
  }
  const run = async () => {
    const began = performance.now()
    for (let turn = 1; !isStopping; turn += 1) {
      if (open.size < mostOpen) {
        // Refused, or not known: its row says which.
        const writing: Promise<void> = write()
          .catch(() => undefined)
          .finally(() => open.delete(writing))
        open.add(writing)
      }
      await delay(Math.max(1, began + (turn * 1_000) / rate - performance.now()))
    }
    await Promise.all(open)
  }
  const running = run()
  return {
    promised,
    stop() {
      isStopping = true
      return running
    },
  }
}
