import { postgres } from '@outlay/adapters-pg'
import { sequelizeDriver } from '@outlay/adapters-pg/sequelize'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Transaction } from 'sequelize'
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

/** Creates the engine, with the lender's handlers of finished disbursements. */
export function createLoanEngine(database: Database, service: Service): Engine<Transaction> {
  const { sequelize, pool, loans, disbursements } = database
  const engine = createEngine({
    backend: postgres({ driver: sequelizeDriver({ sequelize, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('finish-loans', ['transfer.completed'], async ({ transferId }, transaction) => {
    const paid = await disbursements.findByPk(transferId, { transaction })
    if (paid === null) return
    await paid.update({ status: 'paid' }, { transaction })
    await loans.update({ status: 'disbursed' }, { where: { id: paid.loanId }, transaction })
  })

  // The loan waits for a correction; its money stays reserved. The handler commits with the acknowledgement of the event.
  engine.subscribe(
    'fail-loans',
    ['transfer.failed', 'transfer.canceled'],
    async ({ transferId, transfer: { failure } }, transaction) => {
      if (failure?.retriable) return
      const failed = await disbursements.findByPk(transferId, { transaction })
      if (failed === null) return
      await failed.update({ status: 'failed', reason: failure?.detail ?? null }, { transaction })
      await loans.update({ status: 'failed' }, { where: { id: failed.loanId }, transaction })
    },
  )
  return engine
}
