import { postgres } from '@outlay/adapters-pg'
import { drizzlePostgresJsDriver } from '@outlay/adapters-pg/drizzle-postgres-js'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { eq } from 'drizzle-orm'
import { type Database, type Drizzle, expense, type Transaction } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the agency's handlers of finished expenses. */
export function createExpenseEngine({ db, pool }: Database, service: Service): Engine<Transaction> {
  const engine = createEngine({
    backend: postgres({ driver: drizzlePostgresJsDriver({ db, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-expenses', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.update(expense).set({ status: 'paid' }).where(eq(expense.transferId, transferId))
  })

  engine.subscribe('fail-expenses', ['transfer.failed'], async ({ transferId, transfer }, tx) => {
    if (transfer.failure?.retriable) return
    await tx.update(expense).set({ status: 'unpaid' }).where(eq(expense.transferId, transferId))
  })
  return engine
}

/** Who has to approve what. It is stored once, and holds in every process. */
export async function setPolicies(db: Drizzle, engine: Engine<Transaction>): Promise<void> {
  const large = { name: 'large', when: { amounts: { USD: { from: '500' } } }, approvals: [{ roles: ['finance'] }] }
  await db.transaction((tx) => engine.policies.set(tx, [large], { actor: 'setup', reason: 'rules of the agency' }))
}
