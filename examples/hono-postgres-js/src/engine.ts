import { postgres } from '@outlay/adapters-pg'
import { postgresJsDriver } from '@outlay/adapters-pg/postgres-js'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { TransactionSql } from 'postgres'
import type { Database } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the acquirer's handlers of finished payouts and finished days. */
export function createSettlementEngine({ sql, pool }: Database, service: Service): Engine<TransactionSql> {
  const engine = createEngine({
    backend: postgres({ driver: postgresJsDriver({ sql, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-settlements', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx`update settlement set status = 'paid' where transfer_id = ${transferId}`
  })

  engine.subscribe(
    'unpay-settlements',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, tx) => {
      if (transfer.failure?.retriable) return
      await tx`update settlement set status = 'unpaid' where transfer_id = ${transferId}`
    },
  )

  // Once for each day, after the last of its payouts has ended. Nobody counts, and no row is locked by every payout.
  engine.subscribe('finish-days', ['batch.completed'], async ({ transfer, occurredAt }, tx) => {
    await tx`update day set settled_at = ${occurredAt} where batch_id = ${transfer.batchId ?? null}`
  })
  return engine
}
