import { Amount, OutlayError } from '@outlay/core'
import { findAddress } from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { amountOf, finishFacts, recordFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
import { foreignId } from '../rails/foreign-value.ts'
import { book, planDeposit } from './ledger.ts'

/** Value that a custodial wallet receives from an external address, on one of its chains. */
export interface NewDeposit {
  readonly accountId: string
  readonly addressId: string
  readonly valueType: string
  readonly transferType: string
  /** Decimal string. */
  readonly amount: string
  /**
   * The chain's own reference, 1 to 255 characters, unique on the chain: the hash of the transaction, followed by the index of the
   * output where one transaction pays several wallets. A deposit is booked once for each. A hexadecimal hash is the same in either case; any other
   * reference that differs from an earlier one in its case alone is an exception.
   */
  readonly reference: string
}

/** A deposit, as it was booked or not. */
export interface Deposit extends NewDeposit {
  /** ULID; that of the exception where it was not credited. */
  readonly id: string
  /**
   * `credited`: it is in the wallet, by this call or an earlier one. `exception`: an earlier deposit of this reference has another amount or
   * another wallet, or it differs in its case alone; nothing was credited, and `resolveRailException` decides.
   */
  readonly outcome: 'credited' | 'exception'
}

/**
 * Books a deposit in the caller's transaction, once for each chain and reference. Commit the transaction whatever the outcome is: an
 * exception is stored in it.
 * @throws OutlayError `invalid_address` when it is not a wallet of the account, `transfer_type_not_supported`,
 *   `invalid_amount` and the other codes of an amount, `amount_not_positive`, `missing_field` for the reference.
 */
export async function deposit(tx: Tx, context: ServiceContext, given: NewDeposit): Promise<Deposit> {
  const { accountId, addressId, valueType, transferType, amount, reference } = await checkDeposit(tx, context, given)
  const fact = await recordFact(tx, context, {
    ...{ kind: 'deposit', rail: transferType, reference, accountId },
    amount: { value: amount, currency: valueType },
    payload: { addressId },
  })
  const { id } = fact
  const checked = { id, accountId, addressId, valueType, transferType, amount, reference }
  // A person has credited it since.
  if (fact.resolution === 'applied') return { ...checked, outcome: 'credited' }
  const { exceptionReason: reason } = fact
  if (reason !== null) {
    if (fact.isNew) afterCommit(tx, () => reportExceptions(context, [{ ...fact, reason }]))
    return { ...checked, outcome: 'exception' }
  }
  if (fact.appliedAt === null) {
    await creditDeposit(tx, context, fact)
    await finishFacts(tx, context, [{ id }])
  }
  return { ...checked, outcome: 'credited' }
}

/** Books a stored deposit to its wallet. Takes effect once for each fact. */
export async function creditDeposit(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<void> {
  const { id, accountId, rail, payload } = fact
  const amount = amountOf(fact)
  const addressId = payload['addressId']
  if (accountId === null || rail === null || amount === undefined || typeof addressId !== 'string') {
    throw new Error('The stored deposit has no wallet.')
  }
  const wallet = { valueType: amount.currency, transferType: rail, custodial: { accountId, addressId } }
  await book(tx, context, id, 'deposit', planDeposit(wallet, amount.value))
}

/** A hash at the beginning of a reference: hexadecimal digits are the same in either case, those of other alphabets are not. */
const hash = /^(?:0x[0-9a-f]+|[0-9a-f]{64})(?![0-9a-z])/i

function readReference({ reference }: NewDeposit): string {
  const read = foreignId.safeParse(reference)
  if (read.success) return read.data.replace(hash, (digits) => digits.toLowerCase())
  const message =
    'A deposit has the reference of its chain, in 1 to 255 characters without control characters, and without white space at its ends.'
  throw new OutlayError('missing_field', message, { field: 'reference' })
}

async function checkDeposit(tx: Tx, context: ServiceContext, given: NewDeposit): Promise<NewDeposit> {
  const valueType = context.catalog.valueType(given.valueType)
  if (valueType === undefined) {
    throw new OutlayError('unknown_value_type', 'The value type does not exist.', { field: 'valueType' })
  }
  const address = await findAddress(tx, context, given.accountId, given.addressId)
  if (address === undefined || address.type !== 'internal') {
    throw new OutlayError('invalid_address', 'The account has no such wallet.', { field: 'addressId' })
  }
  const transferType = context.catalog.transferType(given.transferType)?.name ?? ''
  if (!address.transferTypes.includes(transferType) || !context.catalog.pairs(valueType.name, transferType)) {
    const message = 'The wallet does not accept this value type on this chain.'
    throw new OutlayError('transfer_type_not_supported', message, { field: 'transferType' })
  }
  const amount = Amount.parse({ value: given.amount, currency: valueType.name }, { scale: valueType.scale })
  if (!Amount.isPositive(amount)) {
    throw new OutlayError('amount_not_positive', 'A deposit must be more than zero.', { field: 'amount.value' })
  }
  return { ...given, valueType: valueType.name, transferType, amount: amount.value, reference: readReference(given) }
}
