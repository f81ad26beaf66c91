import type { Engine } from '@outlay/core'
import type { Transaction } from 'sequelize'
import type { Service } from './engine.ts'
import type { Database, Disbursement, Loan } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly database: Database
  readonly engine: Engine<Transaction>
  readonly service: Service
}

/** A loan as the lender's clients see it. */
export interface LoanView {
  readonly id: string
  readonly principal: string
  readonly status: Loan['status']
  /** The payments of the loan, the oldest first. */
  readonly disbursements: readonly Disbursement[]
}

/** A request breaks a rule of the lender. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Reads a loan with its disbursements, as the transaction sees them if there is one. */
export async function readLoan({ database }: Host, id: string, transaction?: Transaction): Promise<LoanView> {
  const within = transaction === undefined ? {} : { transaction }
  const loan = await database.loans.findByPk(id, within)
  if (loan === null) throw new Refusal(404, 'There is no such loan.')
  // Ids of transfers are in the order of time.
  const disbursements = await database.disbursements.findAll({
    where: { loanId: id },
    order: ['transferId'],
    ...within,
  })
  return { id, principal: loan.principal, status: loan.status, disbursements }
}

/** Pays an approved loan: its status, the smaller credit line and the payout commit together. */
export async function disburseLoan(host: Host, id: string): Promise<LoanView> {
  const { database, engine, service } = host
  return database.sequelize.transaction(async (transaction) => {
    const loan = await database.loans.findByPk(id, { transaction })
    if (loan === null) throw new Refusal(404, 'There is no such loan.')

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(transaction, {
      accountId: service.accountId,
      idempotencyKey: `loan/${id}`,
      amount: { value: loan.principal, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: loan.bankId, valueType: 'USD', transferType: 'wire' },
      note: `loan ${id}`,
    })
    if (transfer.reused) return readLoan(host, id, transaction)

    // Then the host's rows. An error from here on rolls the payout back.
    await database.disbursements.create({ transferId: transfer.id, loanId: id, bankId: loan.bankId }, { transaction })
    await loan.update({ status: 'disbursing' }, { transaction })
    const [drawn] = await database.sequelize.query(
      `update credit_lines set available = available - :principal
        where id = :creditLineId and available >= :principal returning id`,
      { replacements: { principal: loan.principal, creditLineId: loan.creditLineId }, transaction },
    )
    if (drawn.length === 0) throw new Refusal(409, 'The credit line does not have that much left.')
    return readLoan(host, id, transaction)
  })
}

/** The disbursement that failed, and where the money should have gone. */
export interface Correction {
  readonly loanId: string
  readonly transferId: string
  /** Id of the right bank account at the service; not checked yet. */
  readonly bankId: string
}

/**
 * Pays a failed disbursement again, to another bank account. The credit line is not drawn again. The engine refuses it while money of the
 * failed one may still move, and gives two people who correct it in the same way one new transfer.
 */
export async function correctDisbursement(host: Host, { loanId, transferId, bankId }: Correction): Promise<LoanView> {
  const { database, engine } = host
  return database.sequelize.transaction(async (transaction) => {
    const failed = await database.disbursements.findOne({ where: { transferId, loanId }, transaction })
    if (failed === null) throw new Refusal(404, 'The loan has no such disbursement.')
    const transfer = await engine.transfers.resubmit(transaction, transferId, {
      destination: { addressId: bankId, valueType: 'USD', transferType: 'wire' },
    })
    if (!transfer.reused) {
      await database.disbursements.create({ transferId: transfer.id, loanId, bankId }, { transaction })
      await database.loans.update({ status: 'disbursing', bankId }, { where: { id: loanId }, transaction })
    }
    return readLoan(host, loanId, transaction)
  })
}
