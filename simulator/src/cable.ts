import { Socket } from 'node:net'

/** The sockets of one worker to Postgres, which can be cut all at once. */
export interface Cable {
  /** Makes the socket of a connection, as node-postgres asks for one. */
  readonly plug: () => Socket
  /** Resets every connection, and every later one. */
  cut(): void
}

/** Lays a cable. Within one process this is a proxy's cut without a proxy's cost. */
export function layCable(): Cable {
  const sockets = new Set<Socket>()
  let isCut = false
  return {
    plug() {
      const socket = new Socket()
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      if (isCut) socket.once('connect', () => socket.resetAndDestroy())
      return socket
    },
    cut() {
      isCut = true
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
}
