import type { EntityManager } from '@mikro-orm/postgresql'
import { postgres } from '@outlay/adapters-pg'
import { mikroOrmDriver } from '@outlay/adapters-pg/mikro-orm'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Database } from './database.ts'
import { Entry, Withdrawal } from './entities.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** Creates the engine, with the handlers of withdrawals that are paid, that fail, and that come back later. */
export function createSavingsEngine({ orm, pool }: Database, service: Service): Engine<EntityManager> {
  const engine = createEngine({
    backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  // The entities of a handler are flushed at its end, and commit with the acknowledgement of the event.
  engine.subscribe('pay-withdrawals', ['transfer.completed'], async ({ transferId }, em) => {
    const withdrawal = await em.findOne(Withdrawal, { transferId })
    if (withdrawal !== null) withdrawal.status = 'paid'
  })

  engine.subscribe(
    'credit-failed-withdrawals',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer }, em) => {
      if (transfer.failure?.retriable) return
      const withdrawal = await em.findOne(Withdrawal, { transferId })
      if (withdrawal === null) return
      withdrawal.status = 'failed'
      em.create(Entry, { saver: withdrawal.saver, amount: withdrawal.amount, reason: `failed: ${withdrawal.name}` })
    },
  )

  // Days after it was paid, all of it or a part. Each return is one event, however often the service reports it.
  engine.subscribe('credit-returned-withdrawals', ['transfer.returned'], async ({ transferId, returned }, em) => {
    const withdrawal = await em.findOne(Withdrawal, { transferId })
    if (withdrawal === null || returned === undefined) return
    withdrawal.status = 'returned'
    const reason = `returned with ${returned.code}: ${withdrawal.name}`
    em.create(Entry, { saver: withdrawal.saver, amount: returned.amount.value, reason })
  })
  return engine
}
