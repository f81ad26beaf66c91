import type { DrizzleTransaction } from '@outlay/adapters-pg/drizzle'
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type TransferDestination,
  type TransferSource,
} from '@outlay/core'
import { eq } from 'drizzle-orm'
import { pgTable, text } from 'drizzle-orm/pg-core'

/** The host's own table. */
export const invoices = pgTable('invoice', {
  id: text().primaryKey(),
  amount: text().notNull(),
  status: text().notNull().default('open'),
  transferId: text('transfer_id'),
})

export type Transaction = DrizzleTransaction<Record<string, never>>

/** Makes the host's engine, with what the host does about the end of a payout. */
export function createPayouts(options: EngineOptions<Transaction>): Engine<Transaction> {
  const engine = createEngine(options)
  engine.subscribe('settle-invoices', ['transfer.completed', 'transfer.failed'], async (event, tx) => {
    const status = event.type === 'transfer.completed' ? 'paid' : 'failed'
    await tx.update(invoices).set({ status }).where(eq(invoices.transferId, event.transferId))
  })
  return engine
}

/** Who pays an invoice, and who is paid. */
export interface Parties {
  readonly accountId: string
  readonly source: TransferSource
  readonly destination: TransferDestination
}

/** Pays an invoice in the caller's transaction. */
export async function payInvoice(
  tx: Transaction,
  engine: Engine<Transaction>,
  invoiceId: string,
  { accountId, source, destination }: Parties,
): Promise<string> {
  const [invoice] = await tx.select().from(invoices).where(eq(invoices.id, invoiceId))
  if (invoice === undefined) throw new Error(`There is no invoice ${invoiceId}.`)
  const transfer = await engine.transfers.enqueue(tx, {
    accountId,
    idempotencyKey: invoice.id,
    amount: { value: invoice.amount, currency: destination.valueType },
    source,
    destination,
  })
  await tx.update(invoices).set({ status: 'paying', transferId: transfer.id }).where(eq(invoices.id, invoiceId))
  return transfer.id
}
