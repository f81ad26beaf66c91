import type { Dispatcher } from 'undici'

/** The connections of a client, opened with its first request. */
export interface Pool {
  open(): Promise<Dispatcher>
  /** Closes idle connections at once, and the others when their requests are done. Safe to call twice. */
  close(): Promise<void>
}

/** Limits of a pool. */
interface PoolOptions {
  /** Maximum number of connections to one origin. Default 64. */
  readonly maxConcurrent?: number | undefined
  /** To establish a connection, in milliseconds. Default 5 000. */
  readonly connectMs?: number | undefined
}

/** Makes a pool. undici is loaded with the first request: a process that only enqueues never sends one, and starts sooner without. */
export function createPool({ maxConcurrent = 64, connectMs = 5_000 }: PoolOptions): Pool {
  let opened: Promise<Dispatcher> | undefined
  let closed: Promise<void> | undefined
  const open = async (isClosed: boolean): Promise<Dispatcher> => {
    // By the name of its file: by the name of the package, Bun gives a module of its own that can send nothing.
    const { Agent } = await import('undici/index.js')
    const agent = new Agent({
      connections: maxConcurrent,
      pipelining: 1,
      // One request per connection isolates each request; a lost h2 session would fail many at once.
      allowH2: false,
      connect: { timeout: connectMs },
      keepAliveTimeout: 10_000,
    })
    if (isClosed) await agent.close()
    return agent
  }
  return {
    open() {
      opened ??= open(closed !== undefined).catch((error) => {
        opened = undefined
        throw error
      })
      return opened
    },
    close() {
      closed ??= opened === undefined ? Promise.resolve() : opened.then((agent) => agent.close(), ignore)
      return closed
    },
  }
}

/** What could not be opened is closed. */
const ignore = () => undefined

/**
 * A host's own dispatcher as a pool that it closes itself.
 *
 * @throws Error for one that cannot send, as what Bun gives for the name `undici`
 */
export function poolOf(dispatcher: Dispatcher): Pool {
  if (typeof dispatcher.dispatch !== 'function')
    throw new Error("dispatcher is not a Dispatcher of undici; in Bun, import its class from 'undici/index.js'")
  return { open: () => Promise.resolve(dispatcher), close: () => Promise.resolve() }
}
