import { postgres } from '@outlay/adapters-pg'
import { kyselyDriver } from '@outlay/adapters-pg/kysely'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { sql, type Transaction } from 'kysely'
import type { Database, Tables } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the insurer's handler of finished payouts. */
export function createClaimEngine({ db, pool }: Database, service: Service): Engine<Transaction<Tables>> {
  const engine = createEngine({
    backend: postgres({ driver: kyselyDriver({ db, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-claims', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.updateTable('claim').set({ status: 'paid' }).where('transfer_id', '=', transferId).execute()
  })

  // A failed payout does not count against the limit. The handler commits with the acknowledgement of the event.
  engine.subscribe('unpay-claims', ['transfer.failed', 'transfer.canceled'], async ({ transferId, transfer }, tx) => {
    if (transfer.failure?.retriable) return
    const unpaid = await tx
      .updateTable('claim')
      .set({ status: 'unpaid' })
      .where('transfer_id', '=', transferId)
      .returning(['policy_id', 'settlement'])
      .executeTakeFirst()
    if (unpaid === undefined) return
    await tx
      .updateTable('policy')
      .set({ paid_out: sql`paid_out - ${unpaid.settlement}` })
      .where('id', '=', unpaid.policy_id)
      .execute()
  })
  return engine
}
