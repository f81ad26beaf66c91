import './node-version.ts'

export * from './account.ts'
export * from './address.ts'
export { type Bech32FamilyOptions, bech32Family } from './address-bech32.ts'
export type { AddressFamily } from './address-family.ts'
export { tronFamily } from './address-tron.ts'
export { Amount, type AmountOptions } from './amount.ts'
export { Approval, type ApprovalRequirement, type ApprovalStep } from './approval.ts'
export * from './automation.ts'
export * from './balance.ts'
export * from './bank-account.ts'
export * from './bank-link.ts'
export * from './catalog.ts'
export * from './counterparty.ts'
export type { Accounts, AtGateway } from './engine/accounts.ts'
export { isAdopted } from './engine/adoption.ts'
export type { Archived, ArchiveOptions } from './engine/archiving.ts'
export type { AuditProblem, AuditVerdict } from './engine/audit-chain.ts'
export type { ApproveBatchOptions, Batches, CreateBatch } from './engine/batch-commands.ts'
export * from './engine/control-commands.ts'
export type { Counting, Stats, StatsBucket, StatsLatency, StatsQuery } from './engine/counting.ts'
export { createEngine, type EngineOptions } from './engine/create-engine.ts'
export * from './engine/engine.ts'
export type { Failover, Route } from './engine/gateways.ts'
export type { WorkersState } from './engine/lifecycle.ts'
export type { SumLimits } from './engine/limit-commands.ts'
export type { Difference, ReconcileOptions, Reconciliation } from './engine/reconciliation.ts'
export type { ResubmitOptions } from './engine/resubmit-options.ts'
export type { EngineTimeouts } from './engine/timeouts.ts'
export type { WebhookAnswer } from './engine/webhooks.ts'
export * from './error.ts'
export * from './event.ts'
export * from './external-address.ts'
export * from './financial-institution.ts'
export { defaultGateway } from './gateway-account.ts'
export * from './id.ts'
export {
  canonicalJson,
  type Digest,
  fingerprint,
  IdempotencyKey,
  type KeyAnswer,
  type KeyDecision,
} from './idempotency.ts'
export type { ParseOptions, PegOptions, Spelling } from './input.ts'
export * from './limits.ts'
export * from './metadata.ts'
export * from './payment.ts'
export * from './policy.ts'
export type {
  AmountRange,
  JudgedTransfer,
  PolicyConditions,
  PolicyFacts,
} from './policy-condition.ts'
export type { KnownPayees } from './policy-payee.ts'
export type { Lookalike, LookalikeCondition, NewCounterpartyScope, PaymentFacts } from './policy-payment.ts'
export type { PolicyDay, PolicyTime } from './policy-time.ts'
export { policyDays } from './policy-time.ts'
export * from './ports/accounts.ts'
export type { AuditQuery, AuditRecord, ChainedEntry } from './ports/audit.ts'
export type { Backend } from './ports/backend.ts'
export type { Backlog, SubscriptionDelay } from './ports/backlog.ts'
export type { Batch, BatchCounts, BatchReview } from './ports/batches.ts'
export * from './ports/gateway.ts'
export * from './ports/handlers.ts'
export type { ControlNote, HeldState, Hold, LimitExcess } from './ports/holds.ts'
export type { LimitUse, LimitVersion, SumOf } from './ports/limits.ts'
export type { PolicyVersion } from './ports/policies.ts'
export * from './ports/runtime.ts'
export * from './ports/safety.ts'
export type {
  AnsweredScreening,
  ScreenedTransfer,
  Screener,
  ScreeningAnswer,
  ScreeningResult,
  ScreeningState,
  StoredScreening,
} from './ports/screening.ts'
export * from './ports/stored-transfer.ts'
export * from './ports/telemetry.ts'
export type { CountStep } from './ports/transfer-counts.ts'
export type { TransferPage, TransferQuery } from './ports/transfer-query.ts'
export * from './ports/webhooks.ts'
export type { LoopProgress } from './ports/work.ts'
export * from './ports/work-options.ts'
export type { PostalAddress } from './postal-address.ts'
export * from './quote.ts'
export {
  type LimitKey,
  type LimitSpan,
  SumLimit,
  type SumLimitChoices,
} from './sum-limit.ts'
export * from './transfer.ts'
export { type FlowLeg, type FlowLegs, type KnownAddressTypes, TransferFlow, transferFlows } from './transfer-flow.ts'
export { type IdentifiedReturn, type ReturnedAmount, TransferReturn } from './transfer-return.ts'
export * from './transfer-status.ts'
export * from './transfer-type.ts'
export { defaultValueTypes, type ValueType, type ValueTypeInput, type ValueTypeName } from './value-type.ts'
