import '@outlay/core/node-version'

export { type Client, type ClientOptions, createClient } from './client.ts'
export type { AddressSource, ConnectionOptions, Timeouts } from './connection.ts'
export type { Dialect } from './dialect.ts'
export type { ServiceAnswer } from './errors.ts'
export { type HttpGatewayOptions, httpGateway, outlayKeyLifetimeMs } from './gateway.ts'
export type { CallLimits, CallLimitsSource } from './limiter.ts'
export type { ForwardCursor, OnUnreadable, Page, PageRequest, Rows, UnreadableRow } from './pagination.ts'
export type { AccountsResource, CreatedAccount } from './resources/accounts.ts'
export type {
  AddressChange,
  AddressesResource,
  AddressFilters,
  BankAccountWithoutWire,
  CreatedAddress,
  ExternalAddressInput,
  InternalAddressInput,
  PublicAddressInput,
} from './resources/addresses.ts'
export type { AutomationChange, AutomationsResource, CreatedAutomation } from './resources/automations.ts'
export type { BalanceFilters, BalancesResource } from './resources/balances.ts'
export type {
  BankLinkPaths,
  BankLinksResource,
  LinkTokenInput,
  RegisterAccountInput,
  RegisteredAccount,
} from './resources/bank-links.ts'
export type { CreatedFinancialInstitution, FinancialInstitutionsResource } from './resources/financial-institutions.ts'
export type { CreatedQuote, QuotesResource } from './resources/quotes.ts'
export type { CallOptions, CreateOptions, IterateOptions } from './resources/resource.ts'
export type { CreatedTransfer, TransferFilters, TransfersResource } from './resources/transfers.ts'
export type {
  CreatedWebhook,
  RotatedWebhook,
  WebhookChange,
  WebhookDeliveryFilters,
  WebhookRequest,
  WebhooksResource,
} from './resources/webhooks.ts'
export type { RetryOptions, Wait } from './retry.ts'
export type { Credentials, CredentialsSource } from './token.ts'
export { type HttpWebhooksOptions, httpWebhooks } from './webhook-verifier.ts'
export { readObservation, type VerifyWebhookOptions, verifyWebhook, type WebhookEvent } from './webhooks.ts'
export type { AccountRequest, ReadAccount, TermsAttestation } from './wire/account.ts'
export type { ReadAddress } from './wire/address.ts'
export type { ReadAutomation } from './wire/automation.ts'
export type { PublicLinkMembers, ReadLinkToken } from './wire/bank-link.ts'
export type { ReadFinancialInstitution, ReadFinancialInstitutionState } from './wire/financial-institution.ts'
export type { JsonRecord, WithRaw } from './wire/json.ts'
export { decodeTransfer, observe } from './wire/transfer.ts'
export type { WebhookDelivery, WebhookSubscription } from './wire/webhook-subscription.ts'
