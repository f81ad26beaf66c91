import { setTimeout as sleep } from 'node:timers/promises'
import { pgDriver } from '@outlay/adapters-pg'
import type { PoolClient } from 'pg'
import type { Deliveries } from './deliveries.ts'
import type { QueueDatabase } from './queue-database.ts'

/** What a host writes besides its own rows. */
export interface Sender {
  readonly database: QueueDatabase
  /** Writes a job for each number, in the host's transaction. */
  send(client: PoolClient, numbers: readonly number[]): Promise<unknown>
}

/** How long a host repeats one transaction, in milliseconds. */
const patienceMs = 60_000

/** Begins a transaction for each number at a steady rate, whether or not earlier ones have ended; returns what was committed. */
export async function sendSteadily(
  sender: Sender,
  numbers: { next: number },
  rate: { readonly perSecond: number; readonly seconds: number },
  deliveries: Deliveries,
): Promise<readonly number[]> {
  const from = performance.now()
  const sent: number[] = []
  const underWay: Promise<void>[] = []
  while (performance.now() < from + rate.seconds * 1000) {
    const due = Math.floor(((performance.now() - from) / 1000) * rate.perSecond)
    while (underWay.length < due) {
      const n = numbers.next++
      deliveries.expect(n)
      sent.push(n)
      underWay.push(commitSurely(sender, [n], deliveries))
    }
    await sleep(1)
  }
  await Promise.all(underWay)
  return sent
}

/**
 * Commits the host's rows with their jobs, and repeats the transaction until it is known to be committed. The answer to a commit
 * may be lost, so a transaction that finds its rows was committed before.
 */
export async function commitSurely(sender: Sender, numbers: readonly number[], deliveries: Deliveries): Promise<void> {
  const { transaction } = pgDriver(sender.database.host)
  const givesUpAt = performance.now() + patienceMs
  for (;;) {
    try {
      await transaction(async (client) => {
        const { rowCount } = await client.query(insertInvoices(numbers))
        if (rowCount === 0) return
        await sender.send(client, numbers)
        for (const n of numbers) deliveries.commit(n)
      })
      return
    } catch (error) {
      if (performance.now() > givesUpAt) throw error
      await sleep(20 + Math.random() * 60)
    }
  }
}

const insertInvoices = (numbers: readonly number[]) => ({
  name: 'insert_invoices',
  text: `insert into invoice (id, customer, amount, currency, memo)
    select n, 'customer-' || n % 1000, 100.25 + n % 900, 'USD', 'Invoice ' || n from unnest($1::bigint[]) n
    on conflict do nothing`,
  values: [numbers],
})
