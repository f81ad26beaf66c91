import { postgres } from '@outlay/adapters-pg'
import { drizzleNeonDriver } from '@outlay/adapters-pg/drizzle-neon'
import { createEngine, type Engine, type TransferStatus } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { eq } from 'drizzle-orm'
import { type Database, shift, type Transaction } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** What the end of a payout is to a shift. */
const ends: Partial<Record<TransferStatus, 'paid' | 'unpaid' | 'withdrawn'>> = {
  complete: 'paid',
  failed: 'unpaid',
  canceled: 'withdrawn',
}

/** Creates the engine, with the platform's handler of ended payouts. */
export function createShiftEngine(db: Database, service: Service): Engine<Transaction> {
  const engine = createEngine({
    backend: postgres({ driver: drizzleNeonDriver(db) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe(
    'end-shifts',
    ['transfer.completed', 'transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, tx) => {
      if (transfer.failure?.retriable) return
      const status = ends[transfer.status]
      await tx.update(shift).set({ status }).where(eq(shift.transferId, transferId))
    },
  )
  return engine
}
