import { Socket } from 'node:net'
import { Pool } from 'pg'

/** Connections of one worker to Postgres, which can be cut all at once. */
export interface FaultyConnection {
  readonly pool: Pool
  /** Breaks every connection, and every later one. */
  cut(): void
  readonly isCut: boolean
}

/** Two loops for each of two subscriptions and four for everything else: with fewer, a hanging handler may delay other tenants. */
const maxConnections = 8

/** Opens connections that can be cut. Within one process this has the effect of a proxy at a fraction of its cost. */
function openFaultyConnection(connectionString: string): FaultyConnection {
  const sockets = new Set<Socket>()
  let isCut = false
  const plug = () => {
    const socket = new Socket()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    if (isCut) socket.once('connect', () => socket.destroy())
    return socket
  }
  return {
    pool: new Pool({ connectionString, max: maxConnections, stream: plug, idleTimeoutMillis: 0 }),
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    get isCut() {
      return isCut
    },
  }
}

/** FaultyConnections that outlive their workers: what a new session costs before it knows its statements is most of a worker's start. */
export interface FaultyConnections {
  /** One that is kept, or a new one. */
  open(): FaultyConnection
  /** Keeps connections for the next worker when they are whole and nobody uses them any more; else ends them. */
  giveBack(connection: FaultyConnection): Promise<void>
  end(): Promise<void>
}

/** Creates a store of connections to one database. */
export function storeFaultyConnections(connectionString: string): FaultyConnections {
  const kept: FaultyConnection[] = []
  const hush = () => undefined
  return {
    open() {
      const found = kept.pop()
      if (found !== undefined) return found
      const opened = openFaultyConnection(connectionString)
      opened.pool.on('error', hush)
      return opened
    },
    async giveBack(connection) {
      const { pool, isCut } = connection
      if (!isCut && pool.waitingCount === 0 && pool.idleCount === pool.totalCount) kept.push(connection)
      else await pool.end().catch(hush)
    },
    async end() {
      await Promise.all(kept.splice(0).map(({ pool }) => pool.end().catch(hush)))
    },
  }
}
