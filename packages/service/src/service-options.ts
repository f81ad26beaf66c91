import { type Catalog, type Clock, defaultCatalog, type Logger, type Telemetry, type WorkOptions } from '@outlay/core'
import { checkFlag, checkNames, checkNumbers, type NumberRange, timerRange } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import type { AccountReviewer } from './accounts/reviewer.ts'
import type { WalletCustody } from './addresses/custody.ts'
import type { BankLinkingOptions } from './bank-links/linking.ts'
import type { ServiceContext, TransferExpiry } from './context.ts'
import type { Retention } from './housekeeping.ts'
import type { QuoteProvider } from './quotes/port.ts'
import type { AmountPolicy } from './rail-facts/fact-kind.ts'
import type { Rails } from './rails/port.ts'
import { type Dialect, dialects } from './schema/dialect.ts'
import type { WrappingKey } from './secrets.ts'
import type { WebhookDeliveryOptions } from './webhooks/delivery-worker.ts'

/** Keys for encryption at rest. */
export interface EncryptionKeys {
  /** The first one seals, and all of them open. */
  readonly keys: readonly [WrappingKey, ...WrappingKey[]]
  /** At least 32 octets for digests of lookups. It must never change. */
  readonly macKey: Uint8Array
}

/** Options of {@link createService}. */
export interface ServiceOptions {
  /** Connections to the service's database. Its size limits the work of one process at once. 20 is enough on two cores. */
  readonly pool: Pool
  /** Schema of the service's tables: lower-case letters, digits, underscores. Default `outlay_service`. */
  readonly schema?: string | undefined
  /** The rails that move money. `simulated` moves none, on a virtual clock, and adds `/simulations`. */
  readonly rails: Rails | 'simulated'
  /**
   * Keeps the keys of custodial wallets. Default: simulated with simulated rails, otherwise none, and accounts have no wallets. Once there
   * is one, accounts without wallets get theirs.
   */
  readonly custody?: WalletCustody | undefined
  /**
   * Gives rates between value types with different pegs, such as for a payout of USDC in pesos. Default: simulated with simulated rails, with
   * fixed rates and their clock; otherwise none, and value moves within a peg only.
   */
  readonly quotes?: QuoteProvider | undefined
  /** How banks are linked. Default: simulated with simulated rails, otherwise no bank linking. */
  readonly bankLinking?: BankLinkingOptions | undefined
  /** 32 octets, or keys to rotate. */
  readonly encryptionKey: Uint8Array | EncryptionKeys
  /** Value types and transfer types. Default: the built-in ones. */
  readonly catalog?: Catalog | undefined
  /**
   * What decides where the specification and the public contract contradict each other. `public`: the list of addresses has external ones too, a
   * token moves one to one between chains, `destination.memo` is the memo of a wire, webhooks are `archived`, deliveries are listed by
   * attempts, and bank linking is at `plaid` too. Everything else is answered for both. Default `specification`.
   */
  readonly dialect?: Dialect | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Default: no logs. */
  readonly logger?: Logger | undefined
  /** Traces and metrics, such as `openTelemetry()` of `@outlay/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined
  /**
   * Reviews new accounts, which are pending until it has decided. Default: with simulated rails an account is complete at once, and
   * otherwise it is pending until `setAccountStatus`.
   */
  readonly reviewer?: AccountReviewer | undefined
  /**
   * What becomes of a wire of another amount than its transfer asks for. `hold`: nothing is credited, and an exception waits for a
   * person. `credit_received`: the transfer gets the amount that arrived. Default `hold`.
   */
  readonly amountPolicy?: AmountPolicy | undefined
  /**
   * What becomes of an account whose money was returned after it had spent it, from the return on. `block`: it sends nothing from its wallets
   * until it has paid what it owes. `allow`: it only owes. Default `block`.
   */
  readonly receivablePolicy?: ServiceContext['receivablePolicy']
  /** Allows webhooks to private addresses and over plain HTTP. Default false. */
  readonly allowPrivateWebhooks?: boolean | undefined
  /** Ports of public hosts that webhooks may go to. Private addresses, if they are allowed, have every port. Default 443 and 8443. */
  readonly webhookPorts?: readonly number[] | undefined
  /**
   * With simulated rails, whether a client may move their clock, which is one for the payments of all clients. Default: every client may,
   * which fits a service of one tenant.
   */
  readonly mayMoveClock?: ((clientId: string) => boolean) | undefined
  /** Per client. Default 2,000 a second, burst 2,000. */
  readonly rateLimit?: ServiceContext['rateLimit']
  /**
   * Base URL at which clients reach the API, such as `https://api.acme.example/payouts`. Answers that have a URL of the service begin with
   * it. Default: the address that the connection came to, since clients write the Host header.
   */
  readonly publicUrl?: string | undefined
  /**
   * How many proxies in front of the process add an address to `X-Forwarded-For`. Wrong credentials are throttled by the address that the
   * outermost of them has added. Default 0: by the address of the connection, and the header is not read.
   */
  readonly trustedProxies?: number | undefined
  /** Options of the engine's workers in this process. */
  readonly engine?: WorkOptions | undefined
  /** Options of webhook delivery. */
  readonly webhooks?: WebhookDeliveryOptions | undefined
  /**
   * How many hours a transfer may stay pending before it is canceled, by its rail: that of the source for an onramp, otherwise that of
   * the destination. Null for ever. Default `{ wire: 336 }`; other rails have no expiry. Applies to new transfers.
   */
  readonly transferExpiryHours?: TransferExpiry | undefined
  /** How long idempotency keys and events are kept. Default 30 days each. */
  readonly retention?: Retention | undefined
}

const names = [
  'pool',
  'schema',
  'rails',
  'custody',
  'quotes',
  'bankLinking',
  'encryptionKey',
  'catalog',
  'dialect',
  'clock',
  'logger',
  'telemetry',
  'reviewer',
  'amountPolicy',
  'receivablePolicy',
  'allowPrivateWebhooks',
  'webhookPorts',
  'mayMoveClock',
  'rateLimit',
  'trustedProxies',
  'publicUrl',
  'engine',
  'webhooks',
  'retention',
  'transferExpiryHours',
]

/** Maximum number of days that a clock can be set back by. */
const days: NumberRange = { min: 0, max: 100_000 }

const rateRanges = { perSecond: { min: 0.000_001 }, burst: { min: 1 } }

const hours: NumberRange = { min: 0, max: 100_000 }

const retentionRanges = {
  webhookEventDays: days,
  bankLinkExchangeDays: days,
  unusedQuoteDays: days,
}

/** Hosts that set `outlayKeyLifetimeMs` send under a key for 20 days. A day more, since clocks and the hour of a deletion differ. */
const leastKeyDays = 21

const webhookRanges = {
  concurrency: { min: 1, max: 10_000, integer: true },
  pollIntervalMs: timerRange,
  timeoutMs: timerRange,
}

/**
 * Checks the names, flags and numbers that a service is configured with; those of the engine's workers are checked when it starts.
 * @throws Error with a sentence that names the option
 */
export function checkServiceOptions(options: ServiceOptions): void {
  checkNames(options, names)
  const { rateLimit, webhooks, retention, allowPrivateWebhooks, catalog = defaultCatalog } = options
  const { amountPolicy, receivablePolicy } = options
  checkWord(options.dialect, 'dialect', dialects)
  checkWord(amountPolicy, 'amountPolicy', ['hold', 'credit_received'])
  checkWord(receivablePolicy, 'receivablePolicy', ['block', 'allow'])
  if (allowPrivateWebhooks !== undefined) checkFlag(allowPrivateWebhooks, 'allowPrivateWebhooks')
  checkNumbers({ trustedProxies: options.trustedProxies }, { trustedProxies: { min: 0, max: 10, integer: true } })
  checkPublicUrl(options.publicUrl)
  checkPorts(options.webhookPorts)
  checkNames(rateLimit, Object.keys(rateRanges), 'rateLimit')
  checkNames(webhooks, ['clock', ...Object.keys(webhookRanges)], 'webhooks')
  checkExpiry(options.transferExpiryHours ?? {}, catalog)
  checkNames(retention, ['idempotencyKeyDays', ...Object.keys(retentionRanges)], 'retention')
  checkNumbers({ ...rateLimit }, rateRanges, 'rateLimit.')
  checkNumbers({ ...webhooks }, webhookRanges, 'webhooks.')
  const { idempotencyKeyDays, ...others } = retention ?? {}
  checkNumbers(others, retentionRanges, 'retention.')
  checkKeyDays(idempotencyKeyDays)
}

/** Under a key that is gone, a host that repeats a request pays twice. */
function checkKeyDays(given: unknown): void {
  if (given === undefined) return
  const max = 100_000
  if (typeof given === 'number' && given >= leastKeyDays && given <= max) return
  throw new Error(
    `retention.idempotencyKeyDays is a number from ${leastKeyDays} to ${max}; got ${String(given)}. ` +
      'Keys must live longer than hosts trust them, which is keyLifetimeMs of their gateway, 24 hours by default and 20 days with ' +
      'outlayKeyLifetimeMs: a repeat under a key that is gone is paid twice.',
  )
}

function checkExpiry(expiry: TransferExpiry, { transferTypes }: Catalog): void {
  const rails = transferTypes.map(({ name }) => name)
  checkNames(expiry, rails, 'transferExpiryHours')
  const given = Object.entries(expiry).filter(([, value]) => value !== null)
  const ranges = Object.fromEntries(rails.map((name) => [name, hours]))
  checkNumbers(Object.fromEntries(given) as Readonly<Record<string, number>>, ranges, 'transferExpiryHours.')
}

function checkPublicUrl(given: unknown): void {
  if (given === undefined) return
  const url = typeof given === 'string' ? URL.parse(given) : null
  const isBase = url !== null && /^https?:$/.test(url.protocol) && url.username + url.search + url.hash === ''
  if (!isBase) throw new Error('publicUrl: must be an http or https URL without credentials, query and fragment')
}

function checkPorts(given: unknown): void {
  const isPort = (port: unknown) => typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536
  if (given !== undefined && !(Array.isArray(given) && given.length > 0 && given.every(isPort)))
    throw new Error('webhookPorts: must be a list of ports from 1 to 65535')
}

function checkWord(given: string | undefined, name: string, words: readonly string[]): void {
  if (given !== undefined && !words.includes(given)) throw new Error(`${name}: must be ${words.join(' or ')}`)
}
