import { Amount, Id, OutlayError } from '@outlay/core'
import { findAddress } from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { book, planDeposit } from './ledger.ts'

/** Value that a custodial wallet receives from an external address, on one of its chains. */
export interface NewDeposit {
  readonly accountId: string
  readonly addressId: string
  readonly valueType: string
  readonly transferType: string
  /** Decimal string. */
  readonly amount: string
}

/** A booked deposit. */
export interface Deposit extends NewDeposit {
  readonly id: string
}

/**
 * Books a deposit in the caller's transaction.
 * @throws OutlayError `invalid_address` when it is not a wallet of the account, `transfer_type_not_supported`,
 *   `invalid_amount` and the other codes of an amount, `amount_not_positive`.
 */
export async function deposit(tx: Tx, context: ServiceContext, given: NewDeposit): Promise<Deposit> {
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
  const id = Id.generate(context.clock, context.random)
  const custodial = { accountId: given.accountId, addressId: given.addressId }
  const lines = planDeposit({ valueType: valueType.name, transferType, custodial }, amount.value)
  await book(tx, context, id, 'deposit', lines)
  return { ...given, id, valueType: valueType.name, transferType, amount: amount.value }
}
