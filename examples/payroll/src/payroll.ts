import { randomUUID } from 'node:crypto'
import type { Engine, EnqueueRequest } from '@outlay/core'
import { eq } from 'drizzle-orm'
import type { Database, Transaction } from './database.ts'
import { type Company, type Employee, employee, payrollRun, payslip } from './schema.ts'

/** Runs the payroll of one company: its payslips and their payouts commit together, or not at all. */
export async function runPayroll(
  db: Database,
  engine: Engine<Transaction>,
  payer: Company,
  period: string,
): Promise<void> {
  await db.transaction((tx) => writePayroll(tx, engine, payer, period))
}

/** Writes a payroll in the caller's transaction; returns the ids of its transfers. Nothing is sent before the commit. */
export async function writePayroll(
  tx: Transaction,
  engine: Engine<Transaction>,
  payer: Company,
  period: string,
): Promise<readonly string[]> {
  const [run] = await tx.insert(payrollRun).values({ companyId: payer.id, period }).returning()
  if (run === undefined) throw new Error('The run was not written.')

  const people = await tx.select().from(employee).where(eq(employee.companyId, payer.id))
  const slips = people.map((person) => ({ id: randomUUID(), person }))

  const transfers = await engine.transfers.enqueueMany(
    tx,
    slips.map(({ id, person }) => payout(payer, person, { id, period })),
  )
  await tx.insert(payslip).values(
    slips.map(({ id, person }, index) => ({
      id,
      runId: run.id,
      employeeId: person.id,
      amount: person.salary,
      transferId: transfers[index]?.id,
    })),
  )
  return transfers.map((transfer) => transfer.id)
}

/** One payout: dollars to a bank account, or USDC to a wallet, from the company's wallet on Base. */
function payout(payer: Company, person: Employee, slip: { id: string; period: string }): EnqueueRequest {
  const valueType = person.rail === 'base' ? 'USDC' : 'USD'
  return {
    accountId: payer.accountId,
    idempotencyKey: slip.id,
    amount: { value: person.salary, currency: valueType },
    source: { addressId: payer.walletId, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: person.addressId, valueType, transferType: person.rail },
    note: `${slip.period} ${slip.id}`,
  }
}
