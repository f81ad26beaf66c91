import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Pool, PoolClient } from 'pg'

/** Where the money-movement service is, and who we are there. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Makes the engine, with what a payout's end means to the shop. */
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

  // What did not arrive can be refunded again, from the transaction on that acknowledges the event.
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
