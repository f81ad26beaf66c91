import { postgres } from '@outlay/adapters-pg'
import { knexDriver } from '@outlay/adapters-pg/knex'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Knex } from 'knex'
import type { Author, Statement } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the publisher's handler of finished payouts. Both processes create one; only the worker starts it. */
export function createRoyaltyEngine(db: Knex, service: Service): Engine<Knex.Transaction> {
  const engine = createEngine({
    backend: postgres({ driver: knexDriver(db) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-statements', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx<Statement>('statement').where({ transfer_id: transferId }).update({ status: 'paid' })
  })

  // A failed payout is on the author's next statement. The handler commits with the acknowledgement of the event.
  engine.subscribe(
    'unpay-statements',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, tx) => {
      if (transfer.failure?.retriable) return
      const [unpaid] = await tx<Statement>('statement')
        .where({ transfer_id: transferId })
        .update({ status: 'unpaid' })
        .returning('*')
      if (unpaid === undefined) return
      await tx<Author>('author')
        .where({ id: unpaid.author_id })
        .update({ royalties: tx.raw('royalties + ?', [unpaid.amount]) })
    },
  )
  return engine
}

/** Reads the address of the service from the environment of a process. */
export function readService(env: NodeJS.ProcessEnv): Service {
  const {
    SERVICE_URL = '',
    CLIENT_ID = '',
    CLIENT_SECRET = '',
    ACCOUNT_ID = '',
    WALLET_ID = '',
    WEBHOOK_SECRETS = '',
  } = env
  return {
    baseUrl: SERVICE_URL,
    credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    accountId: ACCOUNT_ID,
    walletId: WALLET_ID,
    webhookSecrets: (accountId) => (accountId === ACCOUNT_ID ? (WEBHOOK_SECRETS.match(/\S+/g) ?? []) : []),
  }
}
