import type { PostalAddress } from './postal-address.ts'

/** Statuses of an account's onboarding. Specification: "Account statuses". */
export const accountStatuses = ['pending', 'complete', 'rejected'] as const

/** Status of an account. */
export type AccountStatus = (typeof accountStatuses)[number]

/** The statuses that may follow each status of an account. */
export const accountTransitions = {
  pending: ['complete', 'rejected'],
  complete: ['rejected'],
  rejected: ['complete'],
} as const satisfies Record<AccountStatus, readonly AccountStatus[]>

/** A person who owns or controls a business. Specification: ultimate_beneficial_owners. */
export interface BeneficialOwner {
  readonly name: string
  /** Masked when read back. */
  readonly ssn: string
  readonly address: PostalAddress
}

/** A business, or one of its end customers. Specification: "Account". */
export interface Account {
  readonly id: string
  readonly status: AccountStatus
  readonly businessName: string
  /** Masked when read back. */
  readonly ein: string
  readonly address: PostalAddress
  readonly phoneNumber: string
  readonly email: string
  readonly website: string
  readonly ultimateBeneficialOwners: readonly BeneficialOwner[]
}

const allows = (from: AccountStatus, to: AccountStatus): boolean =>
  (accountTransitions[from] as readonly AccountStatus[]).includes(to)

const lastFour = (text: string): string => text.replace(/\D/g, '').slice(-4)

/** Rules of accounts. */
export const Account = {
  /** True when the status may change from one to the other. */
  allows,
  /** True when the account can move money: its onboarding is complete. */
  isReady: (status: AccountStatus): boolean => status === 'complete',
  /** True for nine digits, with or without the dash of an EIN. */
  isEin: (value: unknown): value is string => typeof value === 'string' && /^\d{2}-?\d{7}$/.test(value),
  /** True for nine digits, with or without the dashes of an SSN. */
  isSsn: (value: unknown): value is string => typeof value === 'string' && /^\d{3}-?\d{2}-?\d{4}$/.test(value),
  /** `**-***` and the last four digits. */
  maskEin: (ein: string): string => `**-***${lastFour(ein)}`,
  /** `***-**-` and the last four digits. */
  maskSsn: (ssn: string): string => `***-**-${lastFour(ssn)}`,
} as const
