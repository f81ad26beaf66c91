import type { Pool, PoolClient } from '@neondatabase/serverless'
import { postgres } from '@outlay/adapters-pg'
import { neonDriver } from '@outlay/adapters-pg/neon'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the handlers of finished remittances. */
export function createRemittanceEngine(pool: Pool, service: Service): Engine<PoolClient> {
  const engine = createEngine({
    backend: postgres({ driver: neonDriver(pool) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-remittances', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.query(`update remittance set status = 'paid' where transfer_id = $1`, [transferId])
  })

  // The money of a failed payout returns to its sender once, because the handler commits with the acknowledgement.
  engine.subscribe(
    'refund-remittances',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, tx) => {
      if (transfer.failure?.retriable) return
      await tx.query(
        `with refunded as (
           update remittance set status = 'refunded' where transfer_id = $1 returning customer_id, amount)
         update customer set balance = balance + refunded.amount from refunded where customer.id = refunded.customer_id`,
        [transferId],
      )
    },
  )
  return engine
}
