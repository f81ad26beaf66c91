export type { AutomationResource } from './automations.ts'
export type { BalanceResource } from './balances.ts'
export type { BankLinkingOptions } from './bank-link/linking.ts'
export type {
  BankLinkProvider,
  LinkedBankAccount,
  LinkedItem,
  LinkFlow,
  OpenedFlow,
} from './bank-link/port.ts'
export { type LoginRequiredReport, reportLoginRequired } from './bank-link-logins.ts'
export {
  type Caller,
  type ClientCredentials,
  type Environment,
  grantAccount,
  type NewClient,
  registerClient,
  rotateClientSecret,
  type Scope,
  scopes,
} from './clients.ts'
export { inTransaction, type KybReview, type ServiceContext, type Tx } from './context.ts'
export { type Deposit, deposit, type NewDeposit } from './deposits.ts'
export type { FinancialInstitutionResource, FinancialInstitutionStateResource } from './financial-institutions.ts'
export type { Retention } from './housekeeping.ts'
export type { MountedRoute } from './http/app.ts'
export * from './rails/port.ts'
export { achReturns, magicInputs, type Spell } from './rails/simulated/magic.ts'
export {
  createSimulatedRails,
  type RailSimulation,
  type SimulatedRails,
  type SimulatedRailsOptions,
} from './rails/simulated/simulated-rails.ts'
export type { Secrets, WrappingKey } from './secrets.ts'
export { limitedServer, type ServerLimits } from './server-limits.ts'
export { createService, type EncryptionKeys, type Service, type ServiceOptions } from './service.ts'
export type { TransferEndpointResource, TransferResource } from './transfer-view.ts'
