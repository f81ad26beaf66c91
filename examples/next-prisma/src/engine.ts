import { postgres } from '@outlay/adapters-pg'
import { type PrismaTransaction, prismaDriver } from '@outlay/adapters-pg/prisma'
import { createEngine, type Engine } from '@outlay/core'
import { type Credentials, httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { Pool } from 'pg'
import type { PrismaClient } from './prisma-client.ts'

/** Address of the money-movement service, and our credentials. */
export interface Service {
  readonly baseUrl: string
  readonly credentials: Credentials
  readonly accountId: string
  /** The wallet that pays. */
  readonly walletId: string
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** The engine in the type of Prisma's transactions. */
export type InvoiceEngine = Engine<PrismaTransaction<PrismaClient>>

/** Creates the engine, with the company's handler of finished payouts. */
export function createInvoiceEngine(prisma: PrismaClient, pool: Pool, service: Service): InvoiceEngine {
  const engine = createEngine({
    backend: postgres({ driver: prismaDriver({ prisma, pool }) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      keyLifetimeMs: outlayKeyLifetimeMs,
    }),
    webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
  })

  engine.subscribe('pay-invoices', ['transfer.completed'], async ({ transferId }, tx) => {
    await tx.invoice.updateMany({ where: { transferId }, data: { status: 'paid' } })
  })

  // The money of a failed payout returns to the budget once, because the handler commits with the acknowledgement.
  engine.subscribe('unpay-invoices', ['transfer.failed', 'transfer.canceled'], async ({ transferId, transfer }, tx) => {
    if (transfer.failure?.retriable) return
    const invoice = await tx.invoice.findUnique({ where: { transferId } })
    if (invoice === null) return
    await tx.invoice.updateMany({ where: { transferId }, data: { status: 'unpaid' } })
    await tx.department.updateMany({
      where: { id: invoice.departmentId },
      data: { budget: { increment: invoice.amount } },
    })
  })
  return engine
}
