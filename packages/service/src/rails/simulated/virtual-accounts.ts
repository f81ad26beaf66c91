import { Amount, type Logger, OutlayError, type PaymentDetails } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../context.ts'
import { sqlStateOf } from '../../database/conflict.ts'
import { isLocked } from '../../database/passing-error.ts'
import { run, statement } from '../../database/statement.ts'
import { asSystem } from '../../database/tenant.ts'
import type { DepositFact, VirtualAccountBank, VirtualAccountFact, VirtualAccountListener } from '../port.ts'
import { toEastern } from './banking-day.ts'
import { type Reporter, reportBatches } from './fact-ticker.ts'
import { imad, traceNumber } from './reference.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** The bank of the simulated rails. Fictional; the routing number has a valid checksum. */
export const simulatedBank = {
  bankName: 'Outlay Simulated Bank',
  bankAddress: '1 Sandbox Plaza, Chicago, IL 60601',
  routingNumber: '071099998',
} as const

/** A payment to a virtual account. */
export interface SimulatedDeposit extends Pick<PaymentDetails, 'senderName' | 'senderBankName'> {
  readonly automationId: string
  readonly transferType: DepositFact['transferType']
  /** US dollars, decimal string. */
  readonly amount: string
  /** The sender's reference. A repeat for the same account and rail is the same payment. Default: a new payment. */
  readonly reference?: string | undefined
}

/** Virtual accounts of the simulated rails. */
export interface SimulatedVirtualAccounts extends VirtualAccountBank {
  /** The automation that an account number belongs to; `undefined` for an unknown one. */
  findOwner(accountNumber: string): Promise<string | undefined>
  /**
   * Simulates a payment. Resolves with the bank's reference; for a repeat, with the first one's.
   * @throws OutlayError `conflict` for a reference that another amount has.
   */
  receive(deposit: SimulatedDeposit): Promise<string>
  /** Reporters of opened accounts and of deposits. */
  reporters(listener: VirtualAccountListener): readonly Reporter[]
}

/** Dependencies of the simulated virtual accounts. */
export interface VirtualAccountsOptions {
  readonly pool: Pool
  readonly schema: string
  readonly virtualClock: VirtualClock
  readonly logger: Logger
  /** Unique numbers. */
  readonly nextSequence: () => Promise<number>
}

/** How long the bank takes to open an account, in virtual milliseconds. */
const openingMs = 2_000

/** Maximum number of facts per batch. */
const batchSize = 100

/** Makes virtual accounts whose state is in Postgres. */
export function createVirtualAccounts(options: VirtualAccountsOptions): SimulatedVirtualAccounts {
  const { virtualClock, nextSequence } = options
  const system = asSystem(options)
  return {
    async open({ automationId }) {
      const readyAt = new Date(virtualClock.now().getTime() + openingMs)
      await run(system, options, insertAccount, [automationId, await nextSequence(), readyAt])
    },
    async findOwner(accountNumber) {
      const digits = accountNumberPattern.exec(accountNumber)?.[1]
      if (digits === undefined) return undefined
      const [row] = await run(system, options, selectOwner, [digits])
      return row?.automationId
    },
    async receive(deposit) {
      const now = virtualClock.now()
      const sequence = await nextSequence()
      const isWire = deposit.transferType === 'wire'
      const bankReference = isWire ? imad(toEastern(now).date, sequence) : traceNumber(sequence)
      const key = [deposit.automationId, deposit.transferType, deposit.reference ?? bankReference]
      const details = JSON.stringify(detailsOf(deposit, bankReference, now))
      await run(system, options, insertDeposit, [...key, bankReference, deposit.amount, details])
      const [row] = await run(system, options, selectDeposit, key)
      if (row === undefined) throw new Error('The deposit was not written.')
      if (!Amount.equals(dollars(row.amount), dollars(deposit.amount))) {
        const message = `An earlier deposit of this reference has another amount, ${row.amount}; nothing was sent. Use another reference.`
        throw new OutlayError('conflict', message, { field: 'reference' })
      }
      return row.bankReference
    },
    reporters: (listener) => [reportOpened(options, listener), reportDeposits(options, listener)],
  }
}

const dollars = (value: string): Amount => ({ value, currency: 'USD' })

const accountNumberPattern = /^9(\d{11})$/

function accountNumberOf(sequence: string): string {
  return `9${sequence.padStart(11, '0')}`
}

/** A wire has all members. An ACH entry does not name the sender's bank. */
function detailsOf(deposit: SimulatedDeposit, bankReference: string, now: Date): PaymentDetails {
  const { transferType, senderName = null, senderBankName = null, reference = null } = deposit
  const received = { receivedAt: now.toISOString(), senderName, paymentReference: reference }
  if (transferType === 'ach_credit') return { ...received, traceNumber: bankReference }
  return { ...received, senderBankName, senderBankRoutingNumber: null, imad: bankReference }
}

function reportOpened(options: VirtualAccountsOptions, listener: VirtualAccountListener): Reporter {
  const fact = (row: AccountRow): VirtualAccountFact => ({
    automationId: row.automationId,
    instructions: { ...simulatedBank, accountNumber: accountNumberOf(row.sequence), memo: null },
  })
  return reportBatches(batchSize, (except) =>
    inTransaction(options, async (tx) => {
      const now = options.virtualClock.now()
      const due = await run(tx, options, lockReady, [now, batchSize, except])
      const reported = await eachApplied(options, due, (row) => listener.opened(fact(row)))
      const accepted = new Set(reported.map(([row]) => row.automationId))
      await run(tx, options, updateReported, [[...accepted]])
      const refused = due.map(({ automationId }) => automationId).filter((id) => !accepted.has(id))
      return { read: due.length, accepted: reported.length, refused }
    }),
  )
}

function reportDeposits(options: VirtualAccountsOptions, listener: VirtualAccountListener): Reporter {
  const fact = (row: DepositRow): DepositFact => ({
    reference: row.bankReference,
    transferType: row.transferType,
    routingNumber: simulatedBank.routingNumber,
    accountNumber: accountNumberOf(row.sequence),
    amount: { value: row.amount, currency: 'USD' },
    details: row.details,
  })
  return reportBatches(batchSize, (except) =>
    inTransaction(options, async (tx) => {
      const due = await run(tx, options, lockDeposits, [batchSize, except])
      const reported = await eachApplied(options, due, (row) => listener.deposited(fact(row)))
      for (const [row, { outcome }] of reported) await writeVerdict(tx, options, row, outcome)
      const accepted = new Set(reported.map(([row]) => row.bankReference))
      const refused = due.map(({ bankReference }) => bankReference).filter((one) => !accepted.has(one))
      return { read: due.length, accepted: reported.length, refused }
    }),
  )
}

/**
 * Reports one fact after the other. One that is not accepted does not stop the next ones, except those of an automation that another transaction has
 * locked: each would wait for it.
 */
async function eachApplied<Row extends { readonly automationId: string }, Answer>(
  { logger }: VirtualAccountsOptions,
  rows: readonly Row[],
  report: (row: Row) => Promise<Answer>,
): Promise<readonly (readonly [Row, Answer])[]> {
  const accepted: (readonly [Row, Answer])[] = []
  const locked = new Set<string>()
  for (const row of rows) {
    if (locked.has(row.automationId)) continue
    try {
      accepted.push([row, await report(row)])
    } catch (error) {
      if (isLocked(error)) locked.add(row.automationId)
      const name = sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
      logger.warn({ error: name }, 'A fact about a virtual account was not accepted; the rails report it again.')
    }
  }
  return accepted
}

async function writeVerdict(tx: PoolClient, options: VirtualAccountsOptions, row: DepositRow, verdict: string) {
  await run(tx, options, updateVerdict, [row.transferType, row.bankReference, verdict])
}

const readAccount = rowDecoder('virtual account', { automationId: Column.text, sequence: Column.text })
const readOwner = rowDecoder('virtual account', { automationId: Column.text })
const readDeposit = rowDecoder('deposit', {
  automationId: Column.text,
  sequence: Column.text,
  transferType: Column.word<DepositFact['transferType']>(),
  bankReference: Column.text,
  amount: Column.text,
  details: Column.json<PaymentDetails>(),
})
const readSent = rowDecoder('deposit', { bankReference: Column.text, amount: Column.text })

type AccountRow = ReturnType<typeof readAccount>
type DepositRow = ReturnType<typeof readDeposit>

const insertAccount = statement(
  'rail_virtual_account_insert',
  `insert into {{schema}}.rail_virtual_account (automation_id, sequence, ready_at) values ($1, $2, $3)
   on conflict (automation_id) do nothing`,
)

const selectOwner = statement(
  'rail_virtual_account_owner',
  'select automation_id from {{schema}}.rail_virtual_account where sequence = $1::bigint',
  readOwner,
)

const lockReady = statement(
  'rail_virtual_account_lock_ready',
  `select automation_id, sequence::text as sequence from {{schema}}.rail_virtual_account
    where ready_at <= $1 and automation_id <> all ($3::text[])
    order by ready_at
    limit $2
      for update skip locked`,
  readAccount,
)

const updateReported = statement(
  'rail_virtual_account_reported',
  'update {{schema}}.rail_virtual_account set ready_at = null where automation_id = any ($1)',
)

const insertDeposit = statement(
  'rail_deposit_insert',
  `insert into {{schema}}.rail_deposit
     (automation_id, transfer_type, reference, bank_reference, amount, details)
   values ($1, $2, $3, $4, $5, $6::jsonb)
   on conflict (automation_id, transfer_type, reference) do nothing`,
)

const selectDeposit = statement(
  'rail_deposit_select',
  `select bank_reference, amount from {{schema}}.rail_deposit
    where automation_id = $1 and transfer_type = $2 and reference = $3`,
  readSent,
)

const lockDeposits = statement(
  'rail_deposit_lock_unreported',
  `select d.automation_id, d.transfer_type, d.bank_reference, d.amount, d.details, v.sequence::text as sequence
     from {{schema}}.rail_deposit d
     join {{schema}}.rail_virtual_account v using (automation_id)
    where d.verdict is null and d.bank_reference <> all ($2::text[])
    order by d.position
    limit $1
      for update of d skip locked`,
  readDeposit,
)

const updateVerdict = statement(
  'rail_deposit_verdict',
  `update {{schema}}.rail_deposit set verdict = $3, details = null
    where transfer_type = $1 and bank_reference = $2`,
)
