import { type Obstacle, OutlayError, obstacles } from '../error.ts'
import type { Gateway, RegisterResult, SubmitResult } from '../ports/gateway.ts'
import type { Clock, Logger } from '../ports/runtime.ts'

/** Requests in a row without an answer from which on the log warns: one alone may be lost on any network. */
const mostUnanswered = 3

/** Accounts that are named in the log at a time: when nothing gets through, all of them would be. */
const mostNamed = 10

/** An account that was not asked about for this long is forgotten, in milliseconds; a retry comes after five minutes at most. */
const forgottenAfterMs = 3_600_000

/** What keeps the requests of an account from getting through, as the log names it. */
export type Trouble = Obstacle | 'unauthenticated' | 'unanswered'

interface Open {
  readonly trouble: Trouble
  readonly sinceMs: number
  readonly isNamed: boolean
  /** True when only a request that sends can show that it is over. */
  readonly bySending: boolean
  seenAtMs: number
}

/** Warns once when the requests of an account do not get through any more, and once when they do again. */
export interface ObstacleLog {
  begin(accountId: string, trouble: Trouble, detail: string, bySending: boolean): void
  end(accountId: string, bySending: boolean): void
  /** A request left, as far as is known, and no answer came. Many in a row are what a gateway makes of a bad certificate that does not name it. */
  miss(accountId: string, detail: string): void
}

/** Makes the log of one engine. Of many accounts it names some, and says that there are more. */
export function createObstacleLog(
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  /** Named beside the account, where an engine has several. */
  gateway?: string,
): ObstacleLog {
  const at = gateway === undefined ? {} : { gateway }
  const accounts = new Map<string, Open>()
  const unanswered = new Map<string, number>()
  const named = () => [...accounts.values()].filter((one) => one.isNamed).length
  let isCut = false
  const forget = (nowMs: number) => {
    for (const [id, one] of accounts) if (nowMs - one.seenAtMs >= forgottenAfterMs) accounts.delete(id)
  }
  const log: ObstacleLog = {
    miss(accountId, detail) {
      const count = (unanswered.get(accountId) ?? 0) + 1
      unanswered.set(accountId, count)
      if (count >= mostUnanswered && (accounts.get(accountId)?.trouble ?? 'unanswered') === 'unanswered')
        log.begin(accountId, 'unanswered', detail, true)
    },
    begin(accountId, trouble, detail, bySending) {
      const nowMs = clock.now().getTime()
      const open = accounts.get(accountId)
      // A gateway's read may not say whether the path, the certificate or the vault is wrong; what sends has said it.
      const isVaguer = trouble === 'unreachable' && !bySending && open?.bySending === true
      if (open?.trouble === trouble || isVaguer) {
        open.seenAtMs = nowMs
        return
      }
      forget(nowMs)
      const isNamed = open?.isNamed ?? named() < mostNamed
      const sinceMs = open?.sinceMs ?? nowMs
      accounts.set(accountId, { trouble, sinceMs, isNamed, bySending, seenAtMs: nowMs })
      if (isNamed) logger.warn({ accountId, ...at, reason: trouble, detail }, begins[trouble])
      else if (!isCut)
        logger.warn(
          { ...at, reason: trouble, detail },
          'Requests of more accounts do not get through; they are not named.',
        )
      isCut ||= !isNamed
    },
    end(accountId, bySending) {
      if (bySending) unanswered.delete(accountId)
      const open = accounts.get(accountId)
      if (open === undefined || (!bySending && open.bySending && open.trouble in endedBySending)) return
      accounts.delete(accountId)
      const lastedMs = clock.now().getTime() - open.sinceMs
      if (open.isNamed)
        logger.warn({ accountId, ...at, reason: open.trouble, lastedMs }, 'Requests of the account get through again.')
      if (!isCut || accounts.size > 0) return
      isCut = false
      logger.warn({ ...at }, 'Requests of all accounts get through again.')
    },
  }
  return log
}

/** A read that gets through says nothing of these: creates have a path of their own. */
const endedBySending: Partial<Readonly<Record<Trouble, true>>> = { misconfigured: true, unanswered: true }

const begins: Readonly<Record<Trouble, string>> = {
  unreachable: 'The gateway cannot be reached; the transfers of the account wait, and are tried again.',
  misconfigured:
    'The gateway is not configured correctly; the transfers of the account wait until a person corrects it.',
  credentials_unavailable: 'The credentials of the account could not be read; its transfers wait, and are tried again.',
  unanswered:
    'No answer came to several requests of the account; whether they were carried out is unknown, and the same keys go out again.',
  unauthenticated:
    'The service refuses the credentials of the account; its transfers wait, and one at a time is tried.',
}

/** The same gateway; what comes of its requests is reported to the log. */
export function watchGateway(gateway: Gateway, log: ObstacleLog): Gateway {
  const watched: Partial<Gateway> = {
    async submit(submission, options) {
      const result = await gateway.submit(submission, options)
      noteResult(log, submission.accountId, result)
      return result
    },
    get: (accountId, ...rest) => noteRead(log, accountId, () => gateway.get(accountId, ...rest), true),
    async identify(accountId, options) {
      try {
        return await gateway.identify?.(accountId, options)
      } catch (error) {
        const kind = error instanceof Error ? error.name : typeof error
        const trouble = OutlayError.is(error, 'invalid_request') ? 'misconfigured' : 'credentials_unavailable'
        if (!options.signal.aborted) log.begin(accountId, trouble, kind, true)
        throw error
      }
    },
    async registerAddress(registration, options) {
      const result = await gateway.registerAddress?.(registration, options)
      if (result === undefined) throw new Error('The gateway registers no addresses.')
      noteResult(log, registration.accountId, result)
      return result
    },
    async list(accountId, options) {
      const page = await noteRead(log, accountId, async () => gateway.list?.(accountId, options))
      if (page === undefined) throw new Error('The gateway has no lists.')
      return page
    },
  }
  return new Proxy(gateway, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      return member === undefined ? undefined : (watched[name as keyof Gateway] ?? member)
    },
  })
}

function noteResult(log: ObstacleLog, accountId: string, result: SubmitResult | RegisterResult): void {
  const { outcome, httpStatus, obstacle } = result
  const detail = 'detail' in result ? result.detail : ''
  if (obstacle !== undefined) log.begin(accountId, obstacle, detail, true)
  // The service may forbid one transfer alone with a 403.
  else if (outcome === 'unauthorized' && httpStatus !== 403) log.begin(accountId, 'unauthenticated', detail, true)
  else if (outcome === 'unknown' && httpStatus === undefined) log.miss(accountId, detail)
  else if (httpStatus !== undefined || outcome !== 'throttled') log.end(accountId, true)
}

/** Codes of a connection that was never made, as Node and its fetch have them. */
const unconnected = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

/** What kept a read from getting through, by the error of its gateway: the one that it names, or that there was no answer. */
export function readObstacle(error: unknown): Obstacle | undefined {
  if (!OutlayError.is(error)) {
    const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } }
    return unconnected.test(String(code ?? cause?.code)) ? 'unreachable' : undefined
  }
  const silent = error.code === 'service_unavailable' && error.status === undefined ? 'unreachable' : undefined
  return obstacles.find((known) => known === error.obstacle) ?? silent
}

async function noteRead<T>(
  log: ObstacleLog,
  accountId: string,
  read: () => Promise<T>,
  /** A page that says 404 may then be about the one that is read, and others of the account are read. */
  ofOne = false,
): Promise<T> {
  try {
    const found = await read()
    log.end(accountId, false)
    return found
  } catch (error) {
    const obstacle = readObstacle(error)
    const isPage = OutlayError.is(error) && error.status !== undefined
    if (obstacle !== undefined && error instanceof Error && !(ofOne && isPage))
      log.begin(accountId, obstacle, error.message, false)
    if (OutlayError.is(error, 'unauthenticated')) log.begin(accountId, 'unauthenticated', error.message, false)
    throw error
  }
}
