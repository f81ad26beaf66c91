import { randomInt } from 'node:crypto'
import { addresses } from '../../fixtures.ts'
import type { ServiceSubject } from './subject.ts'

/** A postal address as it is sent. */
export const postalAddress = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }

/** The body that registers an account. Specification: "Account". */
export const newAccount = {
  business_name: 'Roe Holdings Incorporated',
  ein: '12-3456789',
  address: postalAddress,
  phone_number: '+1 217 555 0100',
  email: 'finance@roe.example',
  website: 'https://roe.example',
  ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '987-65-4321', address: postalAddress }],
}

/** The body that registers an on-chain wallet. Specification: "Addresses". */
export function wallet(transferTypes: readonly string[], address: string = addresses.evm[0]) {
  return { name: 'Supplier wallet', address, transfer_types: transferTypes }
}

/** The body that registers a bank account; its number is new unless given. */
export function bankAccount(transferTypes: readonly string[], accountNumber: string = newAccountNumber()) {
  return {
    owner: 'Roe Supplies LLC',
    name: 'Supplier',
    account_number: accountNumber,
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: postalAddress,
    beneficiary_address: postalAddress,
    transfer_types: transferTypes,
  }
}

/** Twelve digits that end in 77, which is not a magic input of a sandbox. */
export function newAccountNumber(): string {
  return `${randomInt(1_000_000_000, 9_999_999_999)}77`
}

/** A source or a destination. */
export function leg(addressId: string, valueType: string, transferType: string) {
  return { address_id: addressId, value_type: valueType, transfer_type: transferType }
}

/** The source of an inbound wire: it names no address. */
export const inboundWire = { value_type: 'USD', transfer_type: 'wire' }

/** A wire onramp to the wallet on Base: it needs no balance and waits for its funds. */
export async function wireOnramp(service: ServiceSubject, value = '125.00') {
  const destination = leg(await service.wallet('base'), 'USDC', 'base')
  return { amount: { value, currency: 'USD' }, source: inboundWire, destination }
}

/** A payout on an EVM chain to a counterparty that is registered for it, from existing funds. */
export async function payout(service: ServiceSubject, value = '12.50', valueType = 'USDC', chain = 'base') {
  await service.fund(valueType, chain, value)
  const source = leg(await service.wallet(chain), valueType, chain)
  const destination = leg(await service.register(wallet([chain])), valueType, chain)
  return { amount: { value, currency: valueType }, source, destination }
}

/** An offramp of USDC on Base to a bank account that is registered for it, from existing funds. */
export async function offramp(service: ServiceSubject, transferType: string, value = '40.00') {
  await service.fund('USDC', 'base', value)
  const listed = transferType === 'same_day_ach_credit' ? 'ach_credit' : transferType
  const source = leg(await service.wallet('base'), 'USDC', 'base')
  const destination = leg(await service.register(bankAccount([listed])), 'USD', transferType)
  return { amount: { value, currency: 'USD' }, source, destination }
}

/** An onramp by ACH debit of a bank account that is registered for it. */
export async function achDebit(service: ServiceSubject, value = '50.00') {
  const source = leg(await service.register(bankAccount(['ach_debit'])), 'USD', 'ach_debit')
  const destination = leg(await service.wallet('base'), 'USDC', 'base')
  return { amount: { value, currency: 'USD' }, source, destination }
}
