import { postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { eq, sql } from 'drizzle-orm'
import { type Database, seller, type Transaction, withdrawal } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the marketplace's handler of finished payouts. */
export function createWithdrawalEngine(db: Database, service: Service): Engine<Transaction> {
  const engine = createEngine({
    backend: postgres({ driver: drizzleDriver(db) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-withdrawals', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.update(withdrawal).set({ status: 'paid' }).where(eq(withdrawal.transferId, transferId))
  })

  // The money of a failed payout returns to the balance once, because the handler commits with the acknowledgement.
  engine.subscribe(
    'return-withdrawals',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, tx) => {
      if (transfer.failure?.retriable) return
      const [returned] = await tx
        .update(withdrawal)
        .set({ status: 'returned' })
        .where(eq(withdrawal.transferId, transferId))
        .returning()
      if (returned === undefined) return
      await tx
        .update(seller)
        .set({ balance: sql`${seller.balance} + ${returned.amount}` })
        .where(eq(seller.id, returned.sellerId))
    },
  )
  return engine
}
