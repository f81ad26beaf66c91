import { setTimeout as delay } from 'node:timers/promises'
import {
  type ArchiveOptions,
  type Backlog,
  createEngine,
  type Engine,
  type EngineOptions,
  type Logger,
  OutlayError,
  type SendingState,
  type WebhookAnswer,
} from '@outlay/core'
import { checkNames, checkNumbers, timerRange } from '@outlay/core/adapter'
import { postgres } from '../backend.ts'
import type { Driver } from '../database/driver.ts'
import { systemRuntime } from '../database/runtime.ts'
import { resolveNames } from '../schema/database-names.ts'
import { type CitusNodeOptions, checkCitusNode } from './citus-node.ts'
import { type CitusPin, createCitusPin } from './citus-pin.ts'
import { createPlacementCheck } from './citus-placement.ts'
import { createNodeQuestions, type NodeAnswers, type NodeQuestions } from './node-answers.ts'
import { createNodeGuard, type NodeGuard } from './node-guard.ts'
import { isUnreachable } from './node-reachability.ts'
import { nodeTelemetry } from './node-telemetry.ts'
import { createQuestionLimit } from './question-limit.ts'
import { createShardAccounts, createShardStops, type ShardAccounts, type ShardStops } from './shard-accounts.ts'
import { archiveAll } from './shard-archive.ts'
import { createShardBatches } from './shard-batches.ts'
import {
  createShardAudit,
  createShardLimits,
  createShardPolicies,
  type ShardAudit,
  type ShardLimits,
  type ShardPolicies,
} from './shard-control.ts'
import { createShardMoves } from './shard-moves.ts'
import type { LimitedNode, ShardNode } from './shard-node.ts'
import { reconcileOwn } from './shard-reconciliation.ts'
import { createShardRouting, isAccountId, type ShardRoute, type ShardRouting } from './shard-routing.ts'
import { type ShardArchived, type ShardBacklog, sumBacklogs } from './shard-sums.ts'
import { createShardTransfers, type ShardTransfers } from './shard-transfers.ts'
import { createShardWorkers } from './shard-workers.ts'

/** One database among several. */
export interface ShardNodeOptions<Tx> {
  readonly driver: Driver<Tx>
  /** As that of `postgres()`. Default: none. */
  readonly deployment?: string | undefined
  /** What the database is in a Citus cluster. Default: it is in none. */
  readonly citus?: CitusNodeOptions | undefined
}

/** Databases that are one system, and which account is where. */
export interface ShardsOptions<Tx> {
  /**
   * The databases by name: 1 to 63 of a-z, 0-9, "_", "." and "-". A name is stored in its database with the first migrate() or start(), and stays for
   * good. The transactions of all drivers are of one type.
   */
  readonly nodes: Readonly<Record<string, ShardNodeOptions<Tx>>>
  /** Names the node of an account: a pure function, or what `directory()` makes. */
  readonly route: ShardRoute
  /** The options of every engine but its backend. A gateway is shared by all, and closed by its host. */
  readonly engine: Omit<EngineOptions<Tx>, 'backend'>
  /** Schema of the engine's tables in every database. Default `outlay`. */
  readonly schema?: string | undefined
  /** Schema of the queue's tables in every database. Default the engine's with `_queue` behind it. */
  readonly queueSchema?: string | undefined
  /** As that of `postgres()`. Default true. */
  readonly notify?: boolean | undefined
  /** Where the engines log. Default: warnings and errors go to the console. */
  readonly logger?: Logger | undefined
  /** How long a question waits for each node, and a start for those that do not answer, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number | undefined
  /**
   * Tables of the host, as `schema.table`, whose rows commit with payouts and which Citus distributes by account. A start is refused where such a
   * table has the rows of an open account on another server. Default: none, and nothing is checked.
   */
  readonly colocated?: readonly string[] | undefined
}

const optionNames = [
  ...['nodes', 'route', 'engine', 'schema', 'queueSchema', 'notify', 'logger', 'timeoutMs', 'colocated'],
]

/**
 * Several databases as one system, typed by the host's own transaction. It has the members of an engine; what is about everything says of each node
 * what it answered, and which nodes did not.
 */
export interface Shards<Tx>
  extends Omit<
    Engine<Tx>,
    | 'transfers'
    | 'accounts'
    | 'stops'
    | 'policies'
    | 'limits'
    | 'audit'
    | 'sending'
    | 'reconcile'
    | 'backlog'
    | 'stats'
    | 'archive'
  > {
  readonly transfers: ShardTransfers<Tx>
  readonly accounts: ShardAccounts<Tx>
  readonly stops: ShardStops<Tx>
  readonly policies: ShardPolicies<Tx>
  readonly limits: ShardLimits<Tx>
  readonly audit: ShardAudit<Tx>
  /** The nodes, in the order of their names in the options. For what is about one database, such as a reconciliation. */
  readonly nodes: readonly ShardNode<Tx>[]
  /**
   * The node of an account, now.
   * @throws Error when the route names no node; what the directory throws
   */
  nodeOf(accountId: string): Promise<ShardNode<Tx>>
  /** Runs `work` in a new transaction on the node of an account. */
  transaction<T>(accountId: string, work: (tx: Tx, node: ShardNode<Tx>) => Promise<T>): Promise<T>
  /**
   * Makes Citus commit a transaction in two phases where its node has a `citus.pin`, and does nothing elsewhere. An enqueue does so by itself: call it in other
   * transactions that write on other servers too, such as those of handlers and of commands.
   * @throws OutlayError `wrong_node` where the pin is not on the node any more: roll back
   */
  pinTransaction(tx: Tx): Promise<void>
  /** Whether anything may be sent from each database, and why not. */
  sending(): Promise<NodeAnswers<SendingState>>
  /** Counts of transfers and events over all nodes that answer. */
  backlog(): Promise<ShardBacklog>
  /** Archives on all nodes at once. `limit` holds for each node, and `onProgress` gets the sum of all. */
  archive(options: ArchiveOptions): Promise<ShardArchived>
  /** Asks each node whether it answers and whether its schema fits. */
  health(): Promise<NodeAnswers<'fits'>>
}

/**
 * Makes one object of several databases, each with an engine of its own. An account is on one node, beside the host's own rows of that account.
 *
 * @example
 * const outlay = shards({
 *   nodes: { east: { driver: drizzleDriver(east) }, west: { driver: drizzleDriver(west) } },
 *   route: (accountId) => regionOf(accountId),
 *   engine: { gateway },
 * })
 * await outlay.transaction(accountId, async (tx) => { await outlay.transfers.enqueue(tx, request) })
 */
export function shards<Tx>(options: ShardsOptions<Tx>): Shards<Tx> {
  const { timeoutMs = defaultTimeoutMs, colocated = [] } = options
  checkOptions(options)
  const { tokens } = resolveNames(options)
  const drivers = Object.values(options.nodes).map(({ driver }) => driver)
  const guard = createNodeGuard(drivers[0] as Driver<Tx>, tokens)
  const surviveErrors = surviveIdleErrors(drivers)
  const pins = new Map(
    Object.entries(options.nodes).flatMap(([name, { driver, citus }]) =>
      citus?.pin === undefined ? [] : [[name, createCitusPin(name, driver, citus.pin)] as const],
    ),
  )
  const nodes = Object.entries(options.nodes).map(([name, node]) =>
    openNode(options, guard, name, node, pins.get(name), async (accountId) => (await routing.nodeOf(accountId)).name),
  )
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const routing: ShardRouting<Tx> = createShardRouting(byName, options.route, guard, timeoutMs)
  const questions = createNodeQuestions(nodes)
  const parts = { routing, questions, guard }
  const { logger } = systemRuntime(options.logger)
  const checkPlacement = createPlacementCheck(tokens, colocated)
  const prepare = async ({ name, driver, engine }: ShardNode<Tx>) => {
    await engine.check()
    await guard.recordName(name, driver)
    await pins.get(name)?.check()
    await checkPlacement(name, driver, pins.has(name))
  }
  const workers = createShardWorkers({ nodes, prepare, timeoutMs, logger })
  const stop = async () => {
    await workers.stop()
    surviveErrors.end()
  }
  return {
    nodes,
    transfers: createShardTransfers(parts),
    accounts: createShardAccounts(
      parts,
      createShardMoves({
        ...{ nodes, questions, route: options.route, tokens, colocated },
        servers: serversOf(options),
      }),
    ),
    batches: createShardBatches(parts),
    stops: createShardStops(parts),
    policies: createShardPolicies(parts, nodes),
    limits: createShardLimits(parts),
    audit: createShardAudit(parts),
    ...createRouted(routing, guard),
    pinTransaction: async (tx) => pins.get((await routing.nodeBy(tx)).name)?.write(tx),
    ...createSummaries(questions),
    subscribe: (...given) => {
      workers.refuseRunning(given[0])
      for (const { engine } of nodes) engine.subscribe(...given)
    },
    subscribeMany: (...given) => {
      workers.refuseRunning(given[0])
      for (const { engine } of nodes) engine.subscribeMany(...given)
    },
    migrate: () => migrate(nodes, questions, guard),
    migrationSql: () => (nodes[0] as ShardNode<Tx>).engine.migrationSql(),
    async start(work = {}) {
      surviveErrors.begin()
      await workers.start(work)
    },
    stop,
    workers: workers.state,
    [Symbol.asyncDispose]: stop,
  }
}

/** An idle connection of a dead node on which no engine runs yet would end the process, and with it the work on the others. */
function surviveIdleErrors<Tx>(drivers: readonly Driver<Tx>[]) {
  let offs: (() => void)[] = []
  const end = () => {
    for (const off of offs) off()
    offs = []
  }
  const begin = () => {
    end()
    offs = drivers.map((driver) => driver.onError(() => undefined))
  }
  begin()
  return { begin, end }
}

const defaultTimeoutMs = 5_000

const namePattern = /^[a-z0-9][a-z0-9_.-]{0,62}$/

function checkOptions<Tx>(options: ShardsOptions<Tx>): void {
  checkNames(options, optionNames)
  const { nodes, route, engine, timeoutMs } = options
  const refuse = (field: string, message: string) => new OutlayError('invalid_request', message, { field })
  if (typeof nodes !== 'object' || nodes === null || Object.keys(nodes).length === 0)
    throw refuse('nodes', 'nodes must have at least one database: { name: { driver } }')
  for (const [name, node] of Object.entries(nodes)) {
    const isNode = typeof node?.driver?.execute === 'function'
    if (!namePattern.test(name) || !isNode)
      throw refuse(
        `nodes.${name}`,
        `nodes.${name} must be { driver } under a name of 1 to 63 of a-z, 0-9, "_", "." and "-"`,
      )
    checkNames(node, ['driver', 'deployment', 'citus'], `nodes.${name}`)
    checkCitusNode(name, node.citus)
  }
  const servers = Object.values(nodes).flatMap(({ citus }) => citus?.at ?? [])
  if (new Set(servers).size < servers.length)
    throw refuse('nodes', 'two nodes have one server of Citus as their citus.at; each needs its own')
  const drivers = Object.values(nodes).map(({ driver }) => driver)
  if (new Set(drivers).size < drivers.length)
    throw refuse('nodes', 'two nodes have one driver; each needs that of its own database')
  if (typeof engine !== 'object' || engine === null)
    throw refuse('engine', 'engine must be the options of every engine: { gateway }')
  if (typeof route !== 'function' && typeof route?.find !== 'function')
    throw refuse('route', 'route must be a function that names the node of an account, or what directory() makes')
  checkNumbers({ timeoutMs }, { timeoutMs: timerRange })
}

function openNode<Tx>(
  { engine, schema, queueSchema, notify, logger, timeoutMs = defaultTimeoutMs }: ShardsOptions<Tx>,
  guard: NodeGuard<Tx>,
  name: string,
  { driver, deployment }: ShardNodeOptions<Tx>,
  pin: CitusPin<Tx> | undefined,
  nodeOf: (accountId: string) => Promise<string>,
): LimitedNode<Tx> {
  const limit = createQuestionLimit(name, timeoutMs)
  const backend = postgres({ driver: guard.driver(name, driver, pin), schema, queueSchema, notify, deployment, logger })
  const telemetry = engine.telemetry === undefined ? undefined : nodeTelemetry(engine.telemetry, name, limit)
  const made = createEngine({ ...engine, backend, telemetry })
  return { name, driver, limit, engine: { ...made, reconcile: reconcileOwn(name, made, nodeOf) } }
}

/** Host and port of the nodes that are servers of a Citus cluster. */
const serversOf = <Tx>({ nodes }: ShardsOptions<Tx>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(nodes).flatMap(([name, { citus }]) => (citus?.at === undefined ? [] : [[name, citus.at] as const])),
  )

/** What goes to one node: that of an account, or that of a transaction. */
function createRouted<Tx>(
  routing: ShardRouting<Tx>,
  guard: NodeGuard<Tx>,
): Pick<Shards<Tx>, 'nodeOf' | 'transaction' | 'webhook' | 'unsubscribe' | 'fence' | 'adoptDatabase'> {
  const engineBy = async (tx: Tx) => (await routing.nodeBy(tx)).engine
  return {
    nodeOf: async (accountId) => routing.nodeOf(accountId),
    transaction: async (accountId, work) =>
      routing.at(accountId, (node) => node.driver.transaction((tx) => work(tx, node))),
    webhook: (webhook, options) => receiveWebhook(routing, guard, webhook, options),
    unsubscribe: async (tx, name, removal) => (await engineBy(tx)).unsubscribe(tx, name, removal),
    fence: async (tx, note) => (await engineBy(tx)).fence(tx, note),
    adoptDatabase: async (tx, adoption) => (await engineBy(tx)).adoptDatabase(tx, adoption),
  }
}

/** A webhook that changed nothing may be about an account that has left the node, or moves: whoever sent it sends it again then. */
async function receiveWebhook<Tx>(
  routing: ShardRouting<Tx>,
  guard: NodeGuard<Tx>,
  ...[webhook, options]: Parameters<Shards<Tx>['webhook']>
): Promise<WebhookAnswer> {
  const accountId = options?.accountId
  try {
    return await routing.at(accountId, async ({ name, engine, driver }) => {
      const answer = await engine.webhook(webhook, options)
      const isUnmatched = answer.status === 200 && answer.changed === 0
      if (isUnmatched && isAccountId(accountId)) await guard.checkCommitted(driver, name, accountId)
      return answer
    })
  } catch (error) {
    if (!OutlayError.is(error, 'account_moving') && !OutlayError.is(error, 'wrong_node')) throw error
    return { status: 503, code: error.code, changed: 0 }
  }
}

/** What all nodes are asked at once. */
function createSummaries<Tx>(
  questions: NodeQuestions<LimitedNode<Tx>>,
): Pick<Shards<Tx>, 'sending' | 'backlog' | 'archive' | 'health' | 'check'> {
  const health = () =>
    questions.askAll(async ({ engine }) => {
      await engine.check()
      return 'fits' as const
    })
  return {
    health,
    sending: () => questions.askAll(({ engine }) => engine.sending()),
    backlog: async () => sumBacklogs(await questions.askAll<Backlog>(({ engine }) => engine.backlog())),
    archive: (options) => archiveAll(questions, options),
    check: () => checkAny(questions),
  }
}

/** How long a check waits for other nodes once one is well, in milliseconds: a probe does not wait for a dead one. */
const checkGraceMs = 250

/** Passes when one node is well and none refuses: a dead database is no reason to take a process out of service that has others. */
async function checkAny<Tx>(questions: NodeQuestions<LimitedNode<Tx>>): Promise<void> {
  const well = Promise.withResolvers<void>()
  const refusal = Promise.withResolvers<never>()
  const all = questions.askAll(async ({ engine }) => {
    try {
      await engine.check()
    } catch (error) {
      if (!isUnreachable(error)) refusal.reject(error)
      throw error
    }
    well.resolve()
  })
  const answered = all.then(({ answers, missing }) => {
    const [dead] = missing
    if (dead !== undefined && Object.keys(answers).length === 0) throw dead.error
  })
  answered.catch(() => undefined)
  await Promise.race([
    answered,
    refusal.promise,
    well.promise.then(() => delay(checkGraceMs, undefined, { ref: false })),
  ])
}

/** Migrates and names every node that answers. A failure of one does not keep the others from it. */
async function migrate<Tx>(
  nodes: readonly LimitedNode<Tx>[],
  questions: NodeQuestions<LimitedNode<Tx>>,
  guard: NodeGuard<Tx>,
): Promise<void> {
  const done = await Promise.allSettled(
    nodes.map(async (node) => {
      await questions.askOne(node, ({ driver }) => driver.run('select 1'))
      await node.engine.migrate()
      await guard.recordName(node.name, node.driver)
    }),
  )
  const failed = done.flatMap((one, at) =>
    one.status === 'rejected' ? [{ node: nodes[at]?.name, error: one.reason }] : [],
  )
  const [first, second] = failed
  if (first === undefined) return
  if (second === undefined) throw first.error
  const texts = failed.map(({ node, error }) => `${node}: ${error instanceof Error ? error.message : String(error)}`)
  throw new AggregateError(
    failed.map(({ error }) => error),
    `Nodes were not migrated: ${texts.join('; ')}`,
  )
}
