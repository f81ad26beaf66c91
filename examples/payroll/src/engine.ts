import { postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { createEngine, type Engine, type Telemetry } from '@outlay/core'
import { type Credentials, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import { eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from './database.ts'
import { payslip } from './schema.ts'

/** Address of the money-movement service, and our credentials. */
export interface ServiceAccess {
  readonly baseUrl: string
  readonly credentials: Credentials
  /** Sends the credentials over HTTP to another machine, such as to a container of the same network. Default false. */
  readonly allowInsecure?: boolean | undefined
}

/** Makes the engine on the application's own database. Every process makes one; only workers start it. */
export function createPayrollEngine(db: Database, service: ServiceAccess, telemetry?: Telemetry): Engine<Transaction> {
  const engine = createEngine({
    backend: postgres({ driver: drizzleDriver(db) }),
    gateway: httpGateway({
      baseUrl: service.baseUrl,
      credentials: service.credentials,
      allowInsecure: service.allowInsecure,
      keyLifetimeMs: outlayKeyLifetimeMs,
      telemetry,
    }),
    telemetry,
    // Days pass in seconds in the sandbox, so a poll of a transfer cannot wait for hours.
    polling: { maxDelayMs: 2_000 },
  })

  // The handler writes the result to the payslip in the transaction that acknowledges the event.
  engine.subscribe(
    'mark-payslips',
    ['transfer.awaiting_funds', 'transfer.completed', 'transfer.failed', 'transfer.canceled'],
    async (event, tx) => {
      const isPayslip = eq(payslip.transferId, event.transferId)
      if (event.type === 'transfer.awaiting_funds') {
        await tx
          .update(payslip)
          .set({ awaitedFundsAt: new Date(event.occurredAt) })
          .where(isPayslip)
        return
      }
      const settlements = sql`${payslip.settlements} + 1`
      if (event.type === 'transfer.completed') {
        await tx.update(payslip).set({ status: 'paid', settlements }).where(isPayslip)
        return
      }
      const reason = event.transfer.failure?.code ?? event.transfer.status
      await tx.update(payslip).set({ status: 'refused', reason, settlements }).where(isPayslip)
    },
    { batchSize: 100 },
  )
  return engine
}
