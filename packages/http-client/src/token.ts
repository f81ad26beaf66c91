import { createHash } from 'node:crypto'
import type { Clock, Environment, Obstacle } from '@outlay/core'
import { type HttpAnswer, type HttpFailure, type HttpRequest, readHeader } from './exchange.ts'
import { readRefusal } from './refusal.ts'
import { readRetryAfterMs } from './retry-after.ts'
import { isRecord } from './wire/json.ts'

/** Credentials of a client. Each environment, testnet or mainnet, has one pair. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  /** Environment of the credentials. If it differs from the connection's, nothing is sent. Default: not declared. */
  readonly environment?: Environment | undefined
}

/** One pair for every account, or a function that returns the pair of an account, for example from a vault. */
export type CredentialsSource = Credentials | ((accountId: string) => Credentials | Promise<Credentials>)

/** A token, or why there is none. No request that needed it was sent. */
export type TokenResult =
  | { readonly kind: 'token'; readonly value: string; readonly clientId: string }
  | { readonly kind: 'denied'; readonly status: number; readonly detail: string }
  | {
      readonly kind: 'unavailable'
      readonly retryAfterMs?: number | undefined
      readonly detail: string
      /** Absent when the token endpoint asked for a pause. */
      readonly obstacle?: Obstacle | undefined
    }

/** Access tokens, one per pair of credentials. Specification: "Authentication". */
interface TokenSource {
  /** The token of an account: from memory, or fetched once for all callers that wait for it. Never rejects. */
  get(accountId: string): Promise<TokenResult>
  /**
   * The client id of the account's next token: from a token in memory, or else from its current credentials. A token in memory
   * that is not wanted is forgotten if the credentials have changed. Rejects when the credentials cannot be read.
   */
  clientIdOf(accountId: string, isWanted: (clientId: string) => boolean): Promise<string>
  /** Forgets a token that the service refused; does nothing when it has been replaced already. */
  discard(accountId: string, token: string): void
  /**
   * Reads the account's credentials again before its next request, because a token lacked a scope. A token that is older than a
   * minute is forgotten too: a new one may have more scopes.
   */
  doubt(accountId: string, token: string): void
}

/** Dependencies of a token source. */
interface TokenSourceOptions {
  readonly tokenUrl: (accountId: string) => URL
  /** True when the token endpoint may differ by account. */
  readonly byAccount: boolean
  readonly credentials: CredentialsSource
  /** Time limit for a function to return the pair of an account, in milliseconds. */
  readonly credentialsMs: number
  readonly environment?: Environment | undefined
  readonly scope?: string | undefined
  readonly clock: Clock
  readonly userAgent: string
  /** Makes one exchange with the token endpoint. */
  readonly send: (request: HttpRequest) => Promise<HttpAnswer | HttpFailure>
}

interface Slot {
  readonly clientId: string
  token: { readonly value: string; readonly fetchedAtMs: number; readonly refreshAtMs: number } | undefined
  pending: Promise<TokenResult> | undefined
}

/** Maximum number of accounts and of pairs of credentials in memory. The oldest is removed first. */
const mostRemembered = 10_000

/** A token of this age is replaced after a 403, in milliseconds. */
const doubtedAfterMs = 60_000

/** A token without a stated lifetime is used for five minutes. */
const defaultLifetimeS = 300

/** Makes the request for a token. RFC 6749: sections 2.3.1 and 4.4.2. */
export function buildTokenRequest(
  tokenUrl: URL,
  credentials: Credentials,
  options: { readonly scope?: string | undefined; readonly userAgent: string },
): HttpRequest {
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (options.scope !== undefined) form.set('scope', options.scope)
  return {
    method: 'POST',
    origin: tokenUrl.origin,
    path: tokenUrl.pathname + tokenUrl.search,
    headers: {
      authorization: `Basic ${encodeBasic(credentials)}`,
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': options.userAgent,
    },
    body: form.toString(),
  }
}

const encodeForm = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)

const encodeBasic = ({ clientId, clientSecret }: Credentials): string =>
  Buffer.from(`${encodeForm(clientId)}:${encodeForm(clientSecret)}`).toString('base64')

const checkCredentials = (credentials: Credentials): Credentials => {
  const { clientId, clientSecret, environment } = credentials
  if (typeof clientId !== 'string' || typeof clientSecret !== 'string')
    throw new TypeError('credentials must be two strings')
  return { clientId, clientSecret, environment }
}

/** Refuses a pair that cannot be one, such as of variables that an environment lacks. A function is called per account, later. */
export function checkSource(source: Partial<Credentials> | CredentialsSource | null | undefined): void {
  if (typeof source === 'function') return
  for (const name of ['clientId', 'clientSecret'] as const) {
    const value: unknown = source?.[name]
    if (typeof value === 'string' && value !== '') continue
    const what = value === '' ? 'empty' : 'no text'
    throw new Error(
      `credentials must be { clientId, clientSecret }, or a function that returns them; ${name} is ${what}`,
    )
  }
}

/** Reads the pair of an account within the time limit. A later answer of the function is ignored. */
const findCredentials = (source: CredentialsSource, accountId: string, limitMs: number): Promise<Credentials> =>
  new Promise((resolve, reject) => {
    if (typeof source !== 'function') return resolve(source)
    const timer = setTimeout(() => reject(new DOMException('', 'TimeoutError')), limitMs)
    new Promise<Credentials>((found) => found(source(accountId)))
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })

/** A token as the endpoint granted it. */
interface Grant {
  readonly kind: 'grant'
  readonly value: string
  /** In milliseconds. */
  readonly lifetimeMs: number
}

/** Reads the answer of the token endpoint. RFC 6749: sections 5.1 and 5.2. */
export function readTokenAnswer(
  answer: HttpAnswer | HttpFailure,
  now: Date,
  confidential: readonly string[],
): Grant | Exclude<TokenResult, { kind: 'token' }> {
  if (answer.kind === 'failure') {
    const obstacle = answer.reason === 'body_too_large' ? 'misconfigured' : (answer.obstacle ?? 'unreachable')
    return { kind: 'unavailable', obstacle, detail: `token endpoint: ${answer.detail}` }
  }
  const { status } = answer
  if (status >= 200 && status < 300) return readGrant(answer.text)
  const refusal = readRefusal(answer, now, confidential)
  const said = refusal.code ?? refusal.detail
  const detail = `token endpoint: HTTP ${status}${said === `HTTP ${status}` ? '' : ` ${said}`}`
  if (status === 400 || status === 401 || status === 403) return { kind: 'denied', status, detail }
  const retryAfterMs = readRetryAfterMs(readHeader(answer, 'retry-after'), now)
  if (status === 429) return { kind: 'unavailable', retryAfterMs, detail }
  if (isBroken(status)) return { kind: 'unavailable', obstacle: 'unreachable', retryAfterMs, detail }
  return { kind: 'unavailable', obstacle: 'misconfigured', detail: `${detail}; is its address right?` }
}

/** True for a status that the right address answers, too, while the service is down. */
const isBroken = (status: number): boolean => status >= 500 || status === 408 || status === 425

const readGrant = (text: string): Grant | Exclude<TokenResult, { kind: 'token' }> => {
  const detail = 'token endpoint: the answer is not a bearer token; is its address right?'
  const unreadable = { kind: 'unavailable', obstacle: 'misconfigured', detail } as const
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return unreadable
  }
  if (!isRecord(body)) return unreadable
  const { access_token: value, token_type: type = 'bearer', expires_in: expiresIn } = body
  // A header cannot carry anything else.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) return unreadable
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return unreadable
  const seconds = Number(expiresIn ?? Number.NaN)
  return { kind: 'grant', value, lifetimeMs: (seconds > 0 ? seconds : defaultLifetimeS) * 1000 }
}

/** Refreshes a minute before the token expires, or at nine tenths of a lifetime shorter than ten minutes. */
const refreshAtMs = (fetchedAtMs: number, lifetimeMs: number): number =>
  fetchedAtMs + lifetimeMs - Math.min(60_000, lifetimeMs / 10)

const remember = <V>(map: Map<string, V>, key: string, value: V): V => {
  if (map.size >= mostRemembered && !map.has(key)) {
    const oldest = map.keys().next()
    if (!oldest.done) map.delete(oldest.value)
  }
  map.set(key, value)
  return value
}

const newSlot = ({ clientId }: Credentials): Slot => ({ clientId, token: undefined, pending: undefined })

const compareEnvironments = (
  { environment: given }: Credentials,
  { environment: wanted }: Pick<TokenSourceOptions, 'environment'>,
): TokenResult | undefined => {
  if (given === undefined || wanted === undefined || given === wanted) return undefined
  const detail = `the credentials of the account are for ${given}, and the connection is for ${wanted}`
  return { kind: 'denied', status: 403, detail }
}

const keyOf = (tokenUrl: URL, { clientId, clientSecret }: Credentials): string =>
  createHash('sha256').update(`${tokenUrl.href}\n${clientId}\n${clientSecret}`).digest('base64')

const readCredentials = async (
  { credentials, credentialsMs }: Pick<TokenSourceOptions, 'credentials' | 'credentialsMs'>,
  accountId: string,
): Promise<Credentials> => checkCredentials(await findCredentials(credentials, accountId, credentialsMs))

const fetchToken = async (
  slot: Slot,
  tokenUrl: URL,
  credentials: Credentials,
  options: TokenSourceOptions,
): Promise<TokenResult> => {
  const { clock } = options
  const request = buildTokenRequest(tokenUrl, credentials, options)
  const secrets = [credentials.clientSecret, encodeForm(credentials.clientSecret), encodeBasic(credentials)]
  const askedAt = clock.now().getTime()
  const grant = readTokenAnswer(await options.send(request), clock.now(), secrets)
  if (grant.kind !== 'grant') return grant
  slot.token = { value: grant.value, fetchedAtMs: askedAt, refreshAtMs: refreshAtMs(askedAt, grant.lifetimeMs) }
  return { kind: 'token', value: grant.value, clientId: credentials.clientId }
}

/** Where an account gets its tokens, and with which credentials; or why that cannot be found. */
async function findAccount(
  options: TokenSourceOptions,
  accountId: string,
): Promise<
  { readonly tokenUrl: URL; readonly credentials: Credentials } | Extract<TokenResult, { kind: 'unavailable' }>
> {
  let tokenUrl: URL
  try {
    tokenUrl = options.tokenUrl(accountId)
  } catch {
    const detail = 'the address of the token endpoint could not be found'
    return { kind: 'unavailable', obstacle: 'misconfigured', detail }
  }
  try {
    return { tokenUrl, credentials: await readCredentials(options, accountId) }
  } catch (error) {
    // The message of a vault may contain a secret, so only the name of the error is reported.
    const name = error instanceof Error ? error.name : 'error'
    const detail = `the credentials of the account could not be read (${name})`
    return { kind: 'unavailable', obstacle: 'credentials_unavailable', detail }
  }
}

/** Makes a token source. It keeps tokens in memory only, and secrets only during a request for a token. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { credentials: source, clock } = options
  const nameOf = (accountId: string) => (typeof source === 'function' || options.byAccount ? accountId : '')
  const slots = new Map<string, Slot>()
  const accounts = new Map<string, Slot>()
  const lookups = new Map<string, Promise<TokenResult>>()

  const readSlot = (slot: Slot | undefined): TokenResult | undefined => {
    const token = slot?.token
    if (slot === undefined || token === undefined || clock.now().getTime() >= token.refreshAtMs) return undefined
    return { kind: 'token', value: token.value, clientId: slot.clientId }
  }

  const lookupToken = async (accountId: string): Promise<TokenResult> => {
    const found = await findAccount(options, accountId)
    if ('kind' in found) return found
    const { tokenUrl, credentials } = found
    const denied = compareEnvironments(credentials, options)
    if (denied !== undefined) return denied
    const key = keyOf(tokenUrl, credentials)
    const slot = slots.get(key) ?? remember<Slot>(slots, key, newSlot(credentials))
    remember(accounts, nameOf(accountId), slot)
    const known = readSlot(slot)
    if (known !== undefined) return known
    slot.pending ??= fetchToken(slot, tokenUrl, credentials, options).finally(() => {
      slot.pending = undefined
    })
    return slot.pending
  }

  return {
    get(accountId) {
      const account = nameOf(accountId)
      const known = readSlot(accounts.get(account))
      if (known !== undefined) return Promise.resolve(known)
      const running = lookups.get(account)
      if (running !== undefined) return running
      const started = lookupToken(accountId).finally(() => lookups.delete(account))
      lookups.set(account, started)
      return started
    },
    async clientIdOf(accountId, isWanted) {
      const account = nameOf(accountId)
      const known = accounts.get(account)
      if (known !== undefined && readSlot(known) !== undefined && isWanted(known.clientId)) return known.clientId
      const { clientId } = await readCredentials(options, accountId)
      if (known?.clientId !== clientId && accounts.get(account) === known) accounts.delete(account)
      return clientId
    },
    discard(accountId, token) {
      const slot = accounts.get(nameOf(accountId))
      if (slot?.token?.value === token) slot.token = undefined
    },
    doubt(accountId, token) {
      const account = nameOf(accountId)
      const slot = accounts.get(account)
      if (slot?.token?.value !== token) return
      accounts.delete(account)
      if (clock.now().getTime() - slot.token.fetchedAtMs >= doubtedAfterMs) slot.token = undefined
    },
  }
}
