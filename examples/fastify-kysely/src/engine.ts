import { postgres } from '@outlay/adapters-pg'
import { kyselyDriver } from '@outlay/adapters-pg/kysely'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { sql, type Transaction } from 'kysely'
import type { Database, Tables } from './schema.ts'

/** Where the money-movement service is, and who we are there. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Makes the engine, with what a payout's end means to the insurer. */
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

  // What did not arrive does not count against the limit, from the transaction on that acknowledges the event.
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
