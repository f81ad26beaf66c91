// For authors of backends and gateways: hosts need none of it.
import './node-version.ts'

export { checkFlag, checkText } from './engine/checked-text.ts'
export { demandCurrency } from './engine/finding.ts'
export { foreignLogger, foreignRuntime, foreignTelemetry } from './engine/foreign-runtime.ts'
export { instruments } from './engine/instruments.ts'
export { momentOf } from './engine/moment.ts'
export { type PaidReading, readPaid } from './engine/paid-amount.ts'
export { refuseUnread } from './engine/unread-members.ts'
export * from './gateway-account.ts'
export { spelledTwice } from './input.ts'
export * from './number-option.ts'
export { checkNames } from './option-names.ts'
export * from './ports/account-commands.ts'
export * from './ports/archive.ts'
export type { AuditEntry, AuditPort, ChainEnd } from './ports/audit.ts'
export type { BacklogPort } from './ports/backlog.ts'
export type { BatchPort, NewBatch } from './ports/batches.ts'
export * from './ports/claim.ts'
export type { HoldPort, NewHold, NewWatch } from './ports/holds.ts'
export type { LimitPort } from './ports/limits.ts'
export * from './ports/new-transfer.ts'
export * from './ports/observations.ts'
export * from './ports/operations.ts'
export type {
  ExpectedFacts,
  FactQuery,
  KnownPayment,
  KnownPolicies,
  PayeeQuery,
  PaymentQuery,
  PolicyPort,
  StoredFacts,
} from './ports/policies.ts'
export * from './ports/schema.ts'
export type { Screened, Screening, ScreeningPort } from './ports/screening.ts'
export * from './ports/subscriptions.ts'
export * from './ports/throttle.ts'
export * from './ports/transfer-commands.ts'
export * from './ports/transfer-counts.ts'
export * from './ports/transfers.ts'
export * from './ports/work.ts'
export { type Answer, type AnswerOutcome, classifyAnswer, type RetryDelay, retryDelayMs } from './retry.ts'
export { Column, type Decoded, type RowDecoder, rowDecoder } from './row-decoder.ts'
export type { CountedSum } from './sum-limit.ts'
