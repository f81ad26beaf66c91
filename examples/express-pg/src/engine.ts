import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Pool, PoolClient } from 'pg'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the shop's handler of finished payouts. */
export function createRefundEngine(pool: Pool, service: Service): Engine<PoolClient> {
  const engine = createEngine({
    backend: postgres({ driver: pgDriver(pool) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-refunds', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.query(`update refund set status = 'paid' where transfer_id = $1`, [transferId])
  })

  // A failed payout can be refunded again. The handler commits with the acknowledgement of the event.
  engine.subscribe('unpay-refunds', ['transfer.failed', 'transfer.canceled'], async ({ transferId, transfer }, tx) => {
    if (transfer.failure?.retriable) return
    await tx.query(
      `with unpaid as (update refund set status = 'unpaid' where transfer_id = $1 returning purchase_id, amount)
       update purchase set refunded = refunded - unpaid.amount from unpaid where purchase.id = unpaid.purchase_id`,
      [transferId],
    )
  })
  return engine
}
