import { randomBytes } from 'node:crypto'
import {
  auditTrail,
  batchList,
  type Driver,
  inspect,
  keySearch,
  postgres,
  remoteIdSearch,
  transferLocks,
} from '@outlay/adapters-pg'
import {
  type Catalog,
  createEngine,
  defaultCatalog,
  type Engine,
  type Gateway,
  type Logger,
  OutlayError,
} from '@outlay/core'
import { checkNames, checkNumbers, timerRange } from '@outlay/core/adapter'
import { type Authorize, createAuthorization } from './authorization/authorization.ts'
import { boundedDriver } from './bounded-driver.ts'
import type { ConsoleContext, Transaction } from './context.ts'
import { createFigures, type FigureReads, type Figures } from './figures.ts'
import { answerJson, answerProblem, withoutBody } from './http/answer.ts'
import { answerDownload, isDownload } from './http/download.ts'
import { type NodeListener, nodeListener } from './http/node-listener.ts'
import { createPlaces } from './http/places.ts'
import { notFound, problemOf, refusal } from './http/problem.ts'
import { createRateLimit, type RateLimit } from './http/rate-limit.ts'
import { checkSameOrigin } from './http/same-origin.ts'
import { type JsonObject, writeOpenApi } from './openapi/openapi.ts'
import { answerPage } from './pages/pages.ts'
import { redact } from './redaction.ts'
import { routes } from './routes.ts'
import { dispatch } from './routing/dispatch.ts'
import { createRouter } from './routing/router.ts'

/** What a console is made of. */
export interface ConsoleOptions<Tx> {
  /** The engine whose transfers are shown. It need not run. */
  readonly engine: Engine<Tx>
  /** The driver of its backend. */
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /** Schema of the queue's tables. Default the engine's with `_queue` behind it. */
  readonly queueSchema?: string | undefined
  /** Says who sent a request, and what they may do. There is no default. */
  readonly authorize: Authorize
  /** Path below which the server has the console, for servers that leave it in the address, as Next does. Default: none. */
  readonly basePath?: string | undefined
  /** How long `authorize` may take, in milliseconds. Default 5 000. */
  readonly authorizeTimeoutMs?: number | undefined
  /** How long an answer may take, in milliseconds. A statement of the database is given up after three quarters of that. Default 20 000. */
  readonly timeoutMs?: number | undefined
  /**
   * Requests that use the database at once, each with one connection; others wait. Default: half of the connections that the driver may open,
   * four at most.
   */
  readonly concurrency?: number | undefined
  /** Requests of one person, in this process. Default 20 a second, and 60 at once. */
  readonly rateLimit?: RateLimit | undefined
  /** Names of pairs of metadata whose values are shown as they are. In others, what may be an account number is hidden. Default: none. */
  readonly shownMetadata?: readonly string[] | undefined
  /** That of the engine, where it has its own: policies are tried with it. */
  readonly catalog?: Catalog | undefined
  /** Default: that of the backend, which writes JSON lines to stderr. */
  readonly logger?: Logger | undefined
}

/** The admin API of an engine, for any server. */
export interface Console {
  /** Answers one request, below any prefix that the server takes from the address. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same as a listener of `node:http`. */
  readonly listener: NodeListener
  /** The OpenAPI 3.1 document. */
  readonly openapi: JsonObject
}

const optionNames = [
  ...['engine', 'driver', 'schema', 'queueSchema', 'authorize', 'basePath', 'authorizeTimeoutMs', 'timeoutMs'],
  ...['rateLimit', 'concurrency', 'shownMetadata', 'catalog', 'logger'],
]

/** The path of the API below the console, which leaves room for its pages. */
const prefix = '/api'

const version = '1'

/**
 * Makes the admin API of an engine: everything that operators see and do, as JSON, for people whom the host lets in.
 * @throws Error for an option that does not exist or is out of range.
 *
 * @example
 * const admin = createConsole({ engine, driver, authorize: async (request) => sessionOf(request.headers) })
 * app.mount('/ops', admin.fetch)
 */
export function createConsole<Tx>(options: ConsoleOptions<Tx>): Console {
  checkOptions(options)
  const { driver, schema, queueSchema, basePath, timeoutMs = 20_000, authorizeTimeoutMs = 5_000 } = options
  const { logger = postgres({ driver, schema, queueSchema }).runtime.logger } = options
  const context = createContext(options, timeoutMs)
  const authorize = createAuthorization({ authorize: options.authorize, timeoutMs: authorizeTimeoutMs, logger })
  const spend = createRateLimit(options.rateLimit ?? defaultRate)
  const enter = createPlaces(options.concurrency ?? placesOf(driver.maxConnections))
  const enterUrgent = createPlaces(urgentPlaces)
  const find = createRouter(routes)
  const openapi = writeOpenApi(routes, version)

  const handle = async (request: Request, requestId: string, signal: AbortSignal): Promise<Response> => {
    checkSameOrigin(request)
    const person = await authorize(request)
    spend(person.actor)
    const path = pathOf(request, basePath)
    if (path === '/openapi.json' && isRead(request)) return answerJson(openapi, requestId)
    const found = path === undefined ? undefined : find(request.method, path)
    if (found === undefined) throw notFound()
    if ('allow' in found) return refuseMethod(found.allow, requestId)
    const answer = await dispatch({ context, person, request, signal, enter, enterUrgent }, found)
    return isDownload(answer) ? answerDownload(answer, requestId) : answerJson(answer, requestId)
  }
  const fetch = async (request: Request): Promise<Response> => {
    // Pages have nothing of anybody: they are answered before anything is asked, also to those who come by a link of another site.
    const page = isRead(request) ? answerPage(request, basePath) : undefined
    if (page !== undefined) return request.method === 'HEAD' ? withoutBody(page) : page
    const requestId = randomBytes(12).toString('hex')
    const answer = await bound(timeoutMs, (signal) => handle(request, requestId, signal)).catch((error: unknown) => {
      const { problem, headers, unexpected } = problemOf(error, requestId)
      if (unexpected) logFailure(logger, requestId, error)
      return answerProblem(problem, headers)
    })
    return request.method === 'HEAD' ? withoutBody(answer) : answer
  }
  return { fetch, listener: nodeListener(fetch), openapi }
}

/** Half of the connections, four at most: payments need the others. */
const placesOf = (connections = 8): number => Math.max(1, Math.min(4, Math.floor(connections / 2)))

/** Places of their own for what holds payments back. */
const urgentPlaces = 2

const defaultRate: RateLimit = { perSecond: 20, burst: 60 }

function checkOptions<Tx>(options: ConsoleOptions<Tx>): void {
  checkNames(options, optionNames)
  const { authorize, basePath = '', timeoutMs = 20_000, authorizeTimeoutMs = 5_000, rateLimit = defaultRate } = options
  if (typeof authorize !== 'function')
    throw new Error('Give the console `authorize`, a function that says who sent a request and what they may do.')
  if (basePath !== '' && !/^(\/[^/?#]+)+$/.test(basePath))
    throw new Error('The basePath begins with a slash and ends without one, such as "/ops/outlay".')
  checkNumbers({ timeoutMs, authorizeTimeoutMs }, { timeoutMs: timerRange, authorizeTimeoutMs: timerRange })
  checkNames(rateLimit, ['perSecond', 'burst'], 'rateLimit')
  const { perSecond, burst } = rateLimit
  const { concurrency = 1 } = options
  checkNumbers(
    { perSecond, burst, concurrency },
    { perSecond: { min: 0.01 }, burst: { min: 1 }, concurrency: { min: 1 } },
  )
}

/** From so many transfers on that wait or are under way, reading all of them takes long. */
const many = 50_000

/** How long it counts whether they are many, in milliseconds. */
const manyForMs = 5_000

/** Longest time of one statement of a figure, which no request waits for, in milliseconds. */
const longestFigureMs = 120_000

function slowFigures<Tx>({ driver: given, schema, queueSchema }: ConsoleOptions<Tx>, timeoutMs: number): Figures {
  const driver = boundedDriver(given, Math.max(longestFigureMs, timeoutMs))
  const inspection = inspect({ driver, schema, queueSchema })
  const quick = inspect({ driver: boundedDriver(given, timeoutMs), schema, queueSchema })
  const { backlog } = createEngine({ backend: postgres({ driver, schema, queueSchema }), gateway: noGateway })
  let last: { readonly isMany: Promise<boolean>; readonly at: number } | undefined
  return createFigures({
    reads: { inspection: inspection as FigureReads['inspection'], backlog },
    isMany() {
      const now = performance.now()
      if (last === undefined || now - last.at > manyForMs)
        last = { isMany: quick.countUnsettled(many).then((count) => count >= many), at: now }
      const counted = last
      return counted.isMany.catch((error: unknown) => {
        if (last === counted) last = undefined
        throw error
      })
    },
  })
}

function createContext<Tx>(options: ConsoleOptions<Tx>, timeoutMs: number): ConsoleContext {
  const {
    engine,
    driver: given,
    schema = 'outlay',
    queueSchema,
    shownMetadata = [],
    catalog = defaultCatalog,
  } = options
  const driver = boundedDriver(given, (timeoutMs * 3) / 4)
  const trail = auditTrail({ driver, schema })
  const backend = postgres({ driver, schema, queueSchema })
  return {
    engine: engine as Engine<Transaction>,
    reads: createEngine({ backend, gateway: noGateway, catalog }) as Engine<Transaction>,
    readPayees: (query) =>
      driver.transaction(async (tx) => (await backend.readFacts(tx, { payees: query, payments: [] })).payees),
    inspection: inspect({ driver, schema, queueSchema }) as ConsoleContext['inspection'],
    listBatches: batchList({ driver, schema }),
    searchRemoteId: remoteIdSearch({ driver, schema }),
    searchKey: keySearch({ driver, schema }),
    lockTransfers: transferLocks({ driver, schema }) as ConsoleContext['lockTransfers'],
    schema,
    figures: slowFigures(options, timeoutMs),
    catalog,
    shownMetadata: new Set(shownMetadata),
    holdBack: (_, work) => driver.transaction((tx) => work(tx, async () => {})),
    act: (actor, work) =>
      driver.transaction(async (tx) => {
        const { complete } = await trail.begin(tx)
        return work(tx, ({ command, reason, transferId, before, after }) =>
          complete({
            ...{ command, actor, reason: reason ?? null, transferId: transferId ?? null },
            ...{ before: before ?? null, after: after ?? null },
          }),
        )
      }),
  }
}

/** Reads send nothing, and ask no service. */
const noGateway: Gateway = {
  submit: () => Promise.reject(new Error('The console sends nothing.')),
  get: () => Promise.reject(new Error('The console reads nothing at the service.')),
}

/** The path below the prefix of the API; undefined for any other. */
function pathOf(request: Request, basePath = ''): string | undefined {
  const { pathname } = new URL(request.url)
  const below = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname
  return below.startsWith(`${prefix}/`) ? below.slice(prefix.length) : undefined
}

const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

function refuseMethod(allow: readonly string[], requestId: string): Response {
  const { problem } = problemOf(refusal(405, `This address takes ${allow.join(', ')}.`), requestId)
  return answerProblem(problem, { allow: allow.join(', ') })
}

/** Waits for an answer no longer than the limit. What is under way then goes on, and may still have an effect. */
function bound<T>(limitMs: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      abort.abort()
      const message = 'There was no answer in time. An action may have been done, or may still be.'
      reject(new OutlayError('service_unavailable', message))
    }, limitMs)
    run(abort.signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}

function logFailure(logger: Logger, requestId: string, error: unknown): void {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error was thrown'
    logger.error({ requestId, error: redact(text) }, 'A request of the console failed.')
  } catch {
    // A log that fails changes nothing of the answer.
  }
}
