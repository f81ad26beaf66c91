import '@outlay/core/node-version'

export { setAccountStatus } from './accounts/accounts.ts'
export { moveToCustody, type UnkeptBalance } from './accounts/custody-moves.ts'
export type { NewAccount } from './accounts/input.ts'
export type { AccountReviewer, AccountSubmission } from './accounts/reviewer.ts'
export type { WalletCustody, WalletOrder, WalletPlan } from './addresses/custody.ts'
export type { MountedRoute } from './app.ts'
export type { AutomationResource } from './automations/automations.ts'
export type { BalanceResource } from './balances/balances.ts'
export type { BankLinkingOptions } from './bank-links/linking.ts'
export { type LoginRequiredReport, reportLoginRequired } from './bank-links/logins.ts'
export type {
  BankLinkProvider,
  LinkedBankAccount,
  LinkedItem,
  LinkFlow,
  OpenedFlow,
} from './bank-links/port.ts'
export {
  type ClientCredentials,
  grantAccount,
  type NewClient,
  registerClient,
  rotateClientSecret,
} from './clients/clients.ts'
export { inTransaction, type ServiceContext, type TransferExpiry, type Tx } from './context.ts'
export { serviceMigrations } from './database/migrations.ts'
export type {
  FinancialInstitutionResource,
  FinancialInstitutionStateResource,
} from './financial-institutions/financial-institutions.ts'
export type { Retention } from './housekeeping.ts'
export type { Connection, ConnectionSocket } from './http/connection.ts'
export { limitedServer, type ServerLimits } from './http/server-limits.ts'
export { type Deposit, deposit, type NewDeposit } from './ledger/deposits.ts'
export { type CollectOptions, collectReceivables, listReceivables, type Receivable } from './ledger/receivables.ts'
export type { QuoteAnswer, QuoteOrder, QuoteProvider } from './quotes/port.ts'
export type { QuoteResource } from './quotes/quotes.ts'
export {
  listRailExceptions,
  type RailException,
  type RailExceptionEnd,
  type RailExceptionQuery,
} from './rail-exceptions/rail-exceptions.ts'
export { type RailResolution, resolveRailException } from './rail-exceptions/resolution.ts'
export type { AmountPolicy, RailExceptionReason, RailFactKind } from './rail-facts/fact-kind.ts'
export * from './rails/port.ts'
export { achReturns, magicInputs, type QuoteSpell, type Spell } from './rails/simulated/magic.ts'
export {
  createSimulatedRails,
  type RailSimulation,
  type SimulatedRails,
  type SimulatedRailsOptions,
} from './rails/simulated/simulated-rails.ts'
export { type Caller, type Environment, type Scope, scopes } from './schema/caller.ts'
export type { Dialect } from './schema/dialect.ts'
export type { Secrets, WrappingKey } from './secrets.ts'
export { createService, type Service } from './service.ts'
export type { EncryptionKeys, ServiceOptions } from './service-options.ts'
export { cancelTransferWithoutWire } from './transfers/cancellation.ts'
export type {
  TransferEndpointResource,
  TransferQuoteResource,
  TransferResource,
  TransferReturnResource,
} from './transfers/view.ts'
