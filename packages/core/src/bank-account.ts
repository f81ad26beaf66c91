import { OutlayError } from './error.ts'
import type { PostalAddress } from './postal-address.ts'

/** Kinds of bank account. Specification: account_type. */
export const bankAccountTypes = ['checking', 'savings'] as const

/** Kind of a bank account. */
export type BankAccountType = (typeof bankAccountTypes)[number]

/** A bank account as it is registered. */
export interface BankAccount {
  /** The owner of the account. */
  readonly owner: string
  /** 4 to 17 digits; the 18 digits of a CLABE for `spei`. */
  readonly accountNumber: string
  /** Nine digits; `undefined` for `spei`, where the CLABE names the bank. */
  readonly routingNumber?: string | undefined
  readonly accountType: BankAccountType
  readonly bankAddress: PostalAddress
  readonly beneficiaryAddress: PostalAddress
}

const digitsOf = (text: string): number[] => [...text].map(Number)

const weighted = (digits: readonly number[], weights: readonly number[]): number =>
  digits.reduce((sum, digit, at) => sum + ((digit * (weights[at % weights.length] ?? 0)) % 10), 0) % 10

const isAccountNumber = (value: unknown): value is string => typeof value === 'string' && /^[0-9]{4,17}$/.test(value)

const isRoutingNumber = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^[0-9]{9}$/.test(value) &&
  value !== '000000000' &&
  weighted(digitsOf(value), [3, 7, 1]) === 0

const isClabe = (value: unknown): value is string => {
  if (typeof value !== 'string' || !/^[0-9]{18}$/.test(value)) return false
  const digits = digitsOf(value)
  return (10 - weighted(digits.slice(0, 17), [3, 7, 1])) % 10 === digits[17]
}

const parseAccountNumber = (value: unknown, field = 'accountNumber'): string => {
  if (isAccountNumber(value)) return value
  throw OutlayError.fromIssues([{ field, code: 'invalid_account_number', message: 'must be 4 to 17 digits' }])
}

const parseRoutingNumber = (value: unknown, field = 'routingNumber'): string => {
  if (isRoutingNumber(value)) return value
  throw OutlayError.fromIssues([
    { field, code: 'invalid_routing_number', message: 'must be nine digits with a right checksum' },
  ])
}

const parseClabe = (value: unknown, field = 'accountNumber'): string => {
  if (isClabe(value)) return value
  throw OutlayError.fromIssues([
    { field, code: 'invalid_clabe', message: 'must be a CLABE of 18 digits with a right check digit' },
  ])
}

// JSON numbers lose the zero in front of 021000021.
const readRoutingNumber = (value: unknown): string | undefined => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return String(value).padStart(9, '0')
  return typeof value === 'string' ? value.trim() : undefined
}

const mask = (accountNumber: string): string => `****${accountNumber.slice(-4)}`

/** Rules of bank account numbers. */
export const BankAccount = {
  /** True for 4 to 17 digits. */
  isAccountNumber,
  /** True for nine digits whose ABA checksum is right. */
  isRoutingNumber,
  /** True for 18 digits whose CLABE check digit is right. */
  isClabe,
  /** Reads an account number; throws `invalid_account_number`. */
  parseAccountNumber,
  /** Reads a routing number; throws `invalid_routing_number`. */
  parseRoutingNumber,
  /** Reads a CLABE; throws `invalid_clabe`. */
  parseClabe,
  /** The routing number of an answer: a number is padded on the left; `undefined` when it is neither text nor number. */
  readRoutingNumber,
  /** `****` and the last four digits. */
  mask,
} as const
