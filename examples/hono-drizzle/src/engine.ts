import { postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { eq, sql } from 'drizzle-orm'
import { type Database, seller, type Transaction, withdrawal } from './schema.ts'

/** Where the money-movement service is, and who we are there. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Makes the engine, with what a payout's end means to the marketplace. */
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

  // Money that did not arrive is the seller's again, in the transaction that acknowledges the event: once.
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
