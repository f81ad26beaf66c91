import type { Logger, LoopProgress, WorkersState, WorkOptions } from '@outlay/core'
import { thrownText } from '../database/thrown-text.ts'
import { isUnreachable, nodeUnavailable } from './node-reachability.ts'
import { within } from './question-limit.ts'
import type { ShardNode } from './shard-node.ts'

/** The workers of one process on all nodes. */
export interface ShardWorkers {
  /**
   * Starts the workers of every node. A node that cannot be reached or does not answer in time is started later, as soon as it can be.
   * @throws what a node that answers refuses with; then none runs
   */
  start(options: WorkOptions & { readonly signal?: AbortSignal | undefined }): Promise<void>
  stop(): Promise<void>
  /** Throws while they run, also where a node has not started yet: a subscription is on all nodes or on none. */
  refuseRunning(subscription: string): void
  state(): WorkersState
}

/** Pauses before a node that did not start is tried again, in milliseconds: the first, and the longest. */
const retryPauseMs = { first: 1_000, longest: 15_000 }

type First =
  | { readonly state: 'running' }
  | { readonly state: 'later' }
  | { readonly state: 'refused'; readonly error: unknown }

/** Makes the workers of nodes. `prepare` runs before each start of a node; `timeoutMs` bounds how long a start waits for a node. */
export function createShardWorkers<Tx>(options: {
  readonly nodes: readonly ShardNode<Tx>[]
  readonly prepare: (node: ShardNode<Tx>) => Promise<void>
  readonly timeoutMs: number
  readonly logger: Logger
}): ShardWorkers {
  const { nodes, timeoutMs } = options
  let current: ReturnType<typeof createRun<Tx>> | undefined
  const stop = async () => {
    const run = current
    current = undefined
    run?.end()
    const isRunning = (node: ShardNode<Tx>) => node.engine.workers().phase === 'running'
    await Promise.all(
      nodes.map(async (node) => {
        // An engine that runs ends in bounded time by itself; one whose start has no answer would be waited for.
        if (isRunning(node)) return node.engine.stop()
        const late = () => nodeUnavailable(node.name, `its start has not ended ${timeoutMs} ms after the stop`)
        await within(timeoutMs, node.engine.stop(), late).catch((error: unknown) =>
          options.logger.warn({ node: node.name, error: thrownText(error) }, 'A node was not waited for.'),
        )
      }),
    )
  }
  return {
    stop,
    refuseRunning(subscription) {
      if (current === undefined) return
      throw new Error(`Subscribe "${subscription}" before start(): running shards accept no more.`)
    },
    state: () => mergeStates(nodes.map(({ engine }) => engine.workers())),
    async start({ signal, ...work }) {
      if (current !== undefined) throw new Error('The shards are running already; stop() them first.')
      if (signal?.aborted === true) return
      const run = createRun(options, work)
      current = run
      signal?.addEventListener('abort', () => void (current === run && stop()), { once: true })
      const firsts = await Promise.all(nodes.map(run.start))
      const refused = firsts.find((first) => first.state === 'refused')
      if (refused?.state !== 'refused') return
      if (current === run) await stop()
      throw refused.error
    },
  }
}

/** The starts of one run, until it ends. */
function createRun<Tx>(
  { prepare, timeoutMs, logger }: Parameters<typeof createShardWorkers<Tx>>[0],
  work: WorkOptions,
) {
  let isEnded = false
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const attempt = async (node: ShardNode<Tx>) => {
    await prepare(node)
    if (!isEnded) await node.engine.start(work)
  }
  const startLater = (node: ShardNode<Tx>, pauseMs: number, error: unknown) => {
    if (isEnded) return
    const fields = { node: node.name, error: thrownText(error) }
    const level = isUnreachable(error) ? 'warn' : 'error'
    logger[level](
      fields,
      'The workers of a node did not start; they are started as soon as it answers, and the others work.',
    )
    const timer = setTimeout(() => {
      timers.delete(timer)
      const nextMs = Math.min(pauseMs * 2, retryPauseMs.longest)
      attempt(node).catch((failure: unknown) => startLater(node, nextMs, failure))
    }, pauseMs)
    timers.add(timer)
  }
  return {
    async start(node: ShardNode<Tx>): Promise<First> {
      const attempted = attempt(node)
      try {
        await within(timeoutMs, attempted, () => nodeUnavailable(node.name, `no answer within ${timeoutMs} ms`))
        return { state: 'running' }
      } catch (error) {
        if (!isUnreachable(error)) return { state: 'refused', error }
        attempted.catch((failure: unknown) => startLater(node, retryPauseMs.first, failure))
        return { state: 'later' }
      }
    },
    end() {
      isEnded = true
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

const phases = ['running', 'starting', 'stopping', 'stopped'] as const

/**
 * The state of the workers of a process: they run where those of one node do, and of each loop the one counts that is furthest from
 * hanging. So a probe that restarts a process does not do it for one dead database.
 */
function mergeStates(states: readonly WorkersState[]): WorkersState {
  const phase = phases.find((one) => states.some((state) => state.phase === one)) ?? 'stopped'
  const loops = new Map<string, LoopProgress>()
  for (const loop of states.flatMap((state) => state.loops)) {
    const known = loops.get(loop.name)
    if (known === undefined || loop.turnMs - loop.hostMs < known.turnMs - known.hostMs) loops.set(loop.name, loop)
  }
  return { phase, loops: [...loops.values()] }
}
