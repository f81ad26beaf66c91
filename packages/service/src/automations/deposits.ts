import { Amount, Id, Limits, OutlayError } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import { inWorkerTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { type Executor, listOf, run, type Statement, statement } from '../database/statement.ts'
import { asSystem, asWorker } from '../database/tenant.ts'
import { arrivalMarksOf, claimArrivals, type ReportedArrival, type ReusedWire } from '../rail-facts/arrival-marks.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import {
  finishFacts,
  isFinished,
  type NewRailFact,
  type RecordedRailFact,
  recordFact,
  type StoredRailFact,
} from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { refuseUnreadable } from '../rail-facts/unreadable-report.ts'
import type { DepositFact, DepositVerdict } from '../rails/port.ts'
import { type AutomationRow, readAutomation, virtualAccountIndex } from './automations.ts'
import { readDepositFact } from './bank-fact.ts'
import { claimedReference, dayOf, isOfOtherDay } from './deposit-day.ts'
import { type DepositMoney, type DepositTransfer, prepareDepositTransfer, writeDepositTransfer } from './transfers.ts'

/** A payment to a virtual account, and its verdict. */
export interface AutomationDeposit {
  readonly id: string
  readonly transfer_type: DepositFact['transferType']
  /** The bank's reference: the IMAD of a wire, the trace number of an ACH entry. */
  readonly reference: string
  /** Null when no automation has the account number. */
  readonly automation_id: string | null
  readonly account_id: string | null
  /** Decimal string. */
  readonly amount_value: string
  readonly amount_currency: string
  /** The transfer that it created; null when it was returned. */
  readonly transfer_id: string | null
  /** Why it was returned; null when it was not. */
  readonly return_reason: string | null
}

/**
 * Accepts a deposit. Its fact is stored first, and takes effect once per rail and bank reference: transfer and ledger commit together. A
 * deposit that cannot become a transfer is recorded as returned, and mints nothing. A repeat gets the first verdict. One that has another
 * amount, account or day than the first with its reference is held as an exception, until a person has decided.
 *
 * Reasons of a return: `unknown_account`, `automation_disabled`, `automation_archived`, `currency_mismatch`,
 * `ach_limit_exceeded`, or the code with which the transfer would have been refused, such as `address_archived`.
 *
 * Rejects, and records nothing, when the rail cannot be asked or a party changes meanwhile: the bank reports the deposit again.
 * What the port does not describe is held as an exception, of which only a digest is stored.
 */
export async function applyDeposit(context: ServiceContext, said: DepositFact): Promise<DepositVerdict> {
  const fact = readDepositFact(said, context.catalog)
  if (fact === undefined) return await holdUnreadable(context, said)
  const first = await recordFact(asSystem(context), context, storable(context, fact))
  const stored = isOfOtherDay(fact, first) ? await holdOther(context, fact) : first
  if (stored.exceptionReason === null) return await applyStored(context, fact, stored)
  if (stored.isNew) report(context, stored, stored.exceptionReason)
  // A person has credited it in the place of the first.
  if (stored.resolution === 'applied') {
    const key = { transferType: fact.transferType, reference: claimedReference(stored) }
    return verdictOf(await findDeposit(asSystem(context), context, key))
  }
  return { outcome: 'held', reason: stored.exceptionReason }
}

/** Stores a deposit with the reference of one of another day. It may be another one, so a person decides; nobody has to decide about its repeats. */
async function holdOther(context: ServiceContext, fact: DepositFact): Promise<RecordedRailFact> {
  const { payload, ...row } = storable(context, fact)
  const other = { ...row, payload: { ...payload, receivedOn: dayOf(fact.details) } }
  const stored = await recordFact(asSystem(context), context, other)
  if (isFinished(stored)) return stored
  // The first one is an exception itself, so nothing has its reference yet.
  await finishFacts(asWorker(context), context, [{ id: stored.id, reason: 'reference_reused' }])
  return { ...stored, exceptionReason: 'reference_reused' }
}

async function holdUnreadable(context: ServiceContext, said: unknown): Promise<DepositVerdict> {
  await refuseUnreadable(context, said)
  return { outcome: 'held', reason: 'unreadable' }
}

async function applyStored(
  context: ServiceContext,
  fact: DepositFact,
  stored: StoredRailFact,
): Promise<DepositVerdict> {
  const system = asSystem(context)
  const automation = await findByAccount(system, context, selectByAccount, fact)
  const known = await findDeposit(system, context, fact)
  if (known !== undefined) return await repeatVerdict(context, fact, stored, { automation, known })
  const transferId = Id.generate(context.clock, context.random)
  const transfer = await prepareOrRefuse(system, context, automation, fact, transferId)
  const verdict = await inWorkerTransaction(context, async (tx) => {
    // Locked against a change of its status and its destination until the commit.
    const locked = await findByAccount(tx, context, lockByAccount, fact)
    if (locked?.status !== automation?.status) return undefined
    if (locked?.destination_address_id !== automation?.destination_address_id) return undefined
    const depositId = await claimDeposit(tx, context, automation, fact, transferId)
    // Another one took effect meanwhile: this one, or one with its reference and another amount.
    if (depositId === undefined) return undefined
    // Also of a deposit that goes back, which has no transfer: its wire is nobody else's.
    const ownerId = typeof transfer === 'object' ? transferId : depositId
    const [reused] = await claimWire(tx, context, fact, { factId: stored.id, transferId: ownerId })
    if (reused !== undefined) return await holdReused(tx, context, { stored, depositId, owner: reused.owner })
    const given = { depositId, transferId, automationId: automation?.id }
    const written = await writeVerdict(tx, context, transfer, given)
    const credited = written.outcome === 'credited' ? { transferId } : {}
    await finishFacts(tx, context, [{ id: stored.id, accountId: automation?.account_id, ...credited }])
    return written
  })
  return verdict ?? (await applyStored(context, fact, stored))
}

/** A wire that a transfer was credited, or that is held for one, is neither credited to an automation nor sent back by itself. */
async function holdReused(
  tx: Tx,
  context: ServiceContext,
  { stored, depositId, owner }: { readonly stored: StoredRailFact; readonly depositId: string; readonly owner: string },
): Promise<DepositVerdict> {
  const reason = 'reused_mark'
  await run(tx, context, unclaimDeposit, [depositId])
  await finishFacts(tx, context, [{ id: stored.id, reason, markOwner: owner }])
  afterCommit(tx, () => report(context, stored, reason))
  return { outcome: 'held', reason }
}

/** The first verdict, for a deposit that was applied already: with this fact, or before facts were stored. */
async function repeatVerdict(
  context: ServiceContext,
  fact: DepositFact,
  stored: StoredRailFact,
  { automation, known }: { readonly automation: AutomationRow | undefined; readonly known: AutomationDeposit },
): Promise<DepositVerdict> {
  if (stored.appliedAt !== null) return verdictOf(known)
  const { amount_value: value, amount_currency: currency, automation_id: automationId } = known
  const isSame = Amount.equals(fact.amount, { value, currency }) && (automation?.id ?? null) === automationId
  const reason = isSame ? undefined : 'reference_reused'
  await finishFacts(asWorker(context), context, [{ id: stored.id, reason }])
  if (reason === undefined) return verdictOf(known)
  report(context, stored, reason)
  return { outcome: 'held', reason }
}

function report(context: ServiceContext, { id, kind, rail }: StoredRailFact, reason: RailExceptionReason): void {
  reportExceptions(context, [{ id, kind, rail, reason }])
}

/** The fact in the form that is stored: the number of the virtual account only as its digest and its last four digits. */
function storable(context: ServiceContext, fact: DepositFact): NewRailFact {
  const { transferType, reference, amount, accountNumber, routingNumber, details } = fact
  const account = { index: virtualAccountIndex(context, fact), last4: accountNumber.slice(-4), routingNumber }
  return { kind: 'deposit', rail: transferType, reference, amount, payload: { account }, details: { details } }
}

async function writeVerdict(
  tx: Tx,
  context: ServiceContext,
  transfer: DepositTransfer | string,
  ids: { readonly depositId: string; readonly transferId: string; readonly automationId: string | undefined },
): Promise<DepositVerdict> {
  const { depositId, transferId, automationId } = ids
  if (typeof transfer === 'object') {
    await writeDepositTransfer(tx, context, transfer)
    return { outcome: 'credited', transferId }
  }
  const reason = transfer
  await run(tx, context, returnDeposit, [depositId, reason])
  const message = 'A deposit is returned to its sender.'
  afterCommit(tx, () => context.logger.warn({ depositId, automationId, reason }, message))
  return { outcome: 'returned', reason }
}

/** A deposit by its rail and the bank's reference, in any case; `undefined` when there was none. */
export async function findDeposit(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  key: Pick<DepositFact, 'transferType' | 'reference'>,
): Promise<AutomationDeposit | undefined> {
  const [row] = await run(executor, context, selectDeposit, [key.transferType, key.reference])
  return row
}

function verdictOf(row: AutomationDeposit | undefined): DepositVerdict {
  if (row?.transfer_id != null) return { outcome: 'credited', transferId: row.transfer_id }
  if (row?.return_reason != null) return { outcome: 'returned', reason: row.return_reason }
  throw new Error('Another transaction wrote a deposit and its row is missing.')
}

/** The automation with this account number; `undefined` when there is none. */
async function findByAccount(
  executor: Executor | Tx,
  context: ServiceContext,
  selected: Statement<AutomationRow>,
  fact: DepositFact,
): Promise<AutomationRow | undefined> {
  const [row] = await run(executor, context, selected, [virtualAccountIndex(context, fact)])
  return row
}

/** Locks the automation of a virtual account against changes; `undefined` when there is none. */
export async function lockOwner(tx: Tx, context: ServiceContext, index: string): Promise<AutomationRow | undefined> {
  const [row] = await run(tx, context, lockByAccount, [index])
  return row
}

/**
 * Writes that a wire is that of a deposit, by its reference and its IMAD: of its transfer, or of the deposit itself, which goes back. Resolves with the others
 * that have it already; with none for what is no wire.
 */
export async function claimWire(
  tx: Tx,
  context: ServiceContext,
  { transferType: rail, reference, details }: DepositMoney,
  claim: Pick<ReportedArrival, 'factId' | 'transferId' | 'isAccepted'>,
): Promise<readonly ReusedWire[]> {
  if (rail !== 'wire') return []
  const named = arrivalMarksOf({ source: { transactionId: reference, paymentDetails: { imad: reference } } })
  const marks = [...named, ...arrivalMarksOf({ source: { paymentDetails: { imad: details.imad } } })]
  return await claimArrivals(tx, context, [{ ...claim, rail, marks }])
}

/** Writes the deposit and returns its id; `undefined` when its reference has one. Waits for another transaction that is writing it. */
export async function claimDeposit(
  tx: Tx,
  context: ServiceContext,
  automation: AutomationRow | undefined,
  fact: DepositMoney,
  transferId: string,
): Promise<string | undefined> {
  const id = Id.generate(context.clock, context.random)
  const written = await run(tx, context, insertDeposit, [
    id,
    fact.transferType,
    fact.reference,
    automation?.id ?? null,
    automation?.account_id ?? null,
    fact.amount.value,
    fact.amount.currency,
    transferId,
    context.clock.now(),
  ])
  return written.length === 0 ? undefined : id
}

/** The transfer to write, or why there is none. */
async function prepareOrRefuse(
  executor: Executor,
  context: ServiceContext,
  automation: AutomationRow | undefined,
  fact: DepositFact,
  transferId: string,
): Promise<DepositTransfer | string> {
  const reason = refusalOf(automation, fact)
  if (automation === undefined || reason !== undefined) return reason ?? 'unknown_account'
  try {
    return await prepareDepositTransfer(executor, context, automation, fact, transferId)
  } catch (error) {
    if (OutlayError.is(error) && error.code !== 'service_unavailable') return error.code
    throw error
  }
}

/** Why a deposit cannot become a transfer, whatever its parties are; `undefined` when nothing is in its way. */
export function refusalOf(automation: AutomationRow | undefined, fact: DepositMoney): string | undefined {
  if (automation === undefined) return 'unknown_account'
  if (automation.status !== 'active') return `automation_${automation.status}`
  if (fact.amount.currency !== automation.source_value_type) return 'currency_mismatch'
  const limit = { value: Limits.inboundAchUsd, currency: 'USD' }
  if (fact.transferType === 'ach_credit' && Amount.compare(fact.amount, limit) > 0) return 'ach_limit_exceeded'
  return undefined
}

const readDeposit: RowDecoder<AutomationDeposit> = rowDecoder('deposit', {
  id: Column.text,
  transfer_type: Column.word<DepositFact['transferType']>(),
  reference: Column.text,
  automation_id: Column.nullable(Column.text),
  account_id: Column.nullable(Column.text),
  amount_value: Column.text,
  amount_currency: Column.text,
  transfer_id: Column.nullable(Column.text),
  return_reason: Column.nullable(Column.text),
})
const selectByAccount = statement(
  'automation_select_by_account',
  `select ${listOf(readAutomation)} from {{schema}}.automation where account_number_index = $1`,
  readAutomation,
)

const lockByAccount = statement(
  'automation_lock_by_account',
  `select ${listOf(readAutomation)} from {{schema}}.automation where account_number_index = $1 for share`,
  readAutomation,
)

const insertDeposit = statement(
  'automation_deposit_insert',
  `insert into {{schema}}.automation_deposit
     (id, transfer_type, reference, automation_id, account_id, amount_value, amount_currency, transfer_id, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict do nothing
   returning id`,
)

const unclaimDeposit = statement(
  'automation_deposit_unclaim',
  'delete from {{schema}}.automation_deposit where id = $1',
)

const returnDeposit = statement(
  'automation_deposit_return',
  'update {{schema}}.automation_deposit set transfer_id = null, return_reason = $2 where id = $1',
)

const selectDeposit = statement(
  'automation_deposit_select',
  `select ${listOf(readDeposit)} from {{schema}}.automation_deposit where transfer_type = $1 and lower(reference) = lower($2)`,
  readDeposit,
)
