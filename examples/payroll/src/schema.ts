import { index, integer, numeric, pgTable, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core'

/** How an employee is paid: by bank in dollars, or in USDC on a chain. */
export const rails = ['ach_credit', 'wire', 'rtp', 'base'] as const

/** A tenant, with its account at the money-movement service. */
export const company = pgTable('company', {
  id: uuid('id').primaryKey().defaultRandom(),
  name: text('name').notNull(),
  accountId: text('account_id').notNull().unique(),
  /** The custodial wallet that pays. */
  walletId: text('wallet_id').notNull(),
})

/** A person on the payroll, with the bank account or wallet that the service knows as an external address. */
export const employee = pgTable('employee', {
  id: uuid('id').primaryKey().defaultRandom(),
  companyId: uuid('company_id')
    .notNull()
    .references(() => company.id),
  rail: text('rail', { enum: rails }).notNull(),
  addressId: text('address_id').notNull(),
  /** In dollars. */
  salary: numeric('salary', { precision: 12, scale: 2 }).notNull(),
})

/** Rows as they are read. */
export type Company = typeof company.$inferSelect
export type Employee = typeof employee.$inferSelect

/** One payroll of one company. */
export const payrollRun = pgTable(
  'payroll_run',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    companyId: uuid('company_id')
      .notNull()
      .references(() => company.id),
    period: text('period').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [unique().on(table.companyId, table.period)],
)

/** The payment of one person in one run, and its result. */
export const payslip = pgTable(
  'payslip',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    runId: uuid('run_id')
      .notNull()
      .references(() => payrollRun.id),
    employeeId: uuid('employee_id')
      .notNull()
      .references(() => employee.id),
    amount: numeric('amount', { precision: 12, scale: 2 }).notNull(),
    transferId: text('transfer_id').unique(),
    status: text('status', { enum: ['payable', 'paid', 'refused'] })
      .notNull()
      .default('payable'),
    /** Why it was refused: a code of the service or of the bank. */
    reason: text('reason'),
    /** When it started to wait for money in the company's wallet. */
    awaitedFundsAt: timestamp('awaited_funds_at', { withTimezone: true }),
    /** How often it was settled. More than once is an error. */
    settlements: integer('settlements').notNull().default(0),
  },
  (table) => [index().on(table.runId), unique().on(table.runId, table.employeeId)],
)
