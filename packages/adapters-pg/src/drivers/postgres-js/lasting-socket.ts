import { EventEmitter } from 'node:events'
import type { HostSocket } from './open-socket.ts'

/** What postgres.js uses of a socket. */
export interface LastingSocket extends EventEmitter {
  readonly readyState: 'open'
  write(chunk: Buffer, done?: (error?: Error | null) => void): boolean
  end(): void
  destroy(): void
  pause(): void
  resume(): void
}

/** The life of the connection under a socket. */
export interface LastingSocketOptions {
  /** True when a query that fails has somebody who waits for it. */
  readonly isAnswered: () => boolean
  /** Aborted when the connection is lost, or to be given up. */
  readonly losing: AbortController
  /** Receives the tag of each statement that ends a transaction or rolls it back to a savepoint: the last one says how the transaction ended. */
  readonly onEnded: (tag: string) => void
  /** Called once, when Postgres takes the first query. */
  readonly onReady?: (() => void) | undefined
}

/** The message ReadyForQuery of Postgres, in a transaction. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x54])

/** The code of a CancelRequest, which is all that is sent on its connection. */
const cancelRequest = 80_877_102

/** The types of messages of Postgres. */
const types = { commandComplete: 0x43, readyForQuery: 0x5a, portalSuspended: 0x73 } as const

/** What ReadyForQuery says where no transaction is open. */
const idle = 0x49

/**
 * A socket for postgres.js that never closes. postgres.js forgets a socket that has closed and writes on it all the same, which ends the
 * process: its own `rollback` does, or the next query of a handler. When the connection under this one is lost, all that was sent fails, and so
 * does what is sent afterwards, as if Postgres still answered.
 */
export function openLastingSocket(socket: HostSocket, options: LastingSocketOptions): LastingSocket {
  const { isAnswered, losing, onEnded, onReady } = options
  const seen = new EventEmitter()
  const lost = losing.signal
  const lose = (reason: Error) => losing.abort(reason)
  let isCancel = false
  const answer = () => {
    // Postgres closes it without an answer.
    if (isCancel) seen.emit('close')
    if (isCancel || !isAnswered()) return
    seen.emit('error', lost.reason)
    // What waits behind a query that failed is sent now.
    seen.emit('data', readyForQuery)
  }
  // While a cursor waits for the host to take its rows, postgres.js goes on with it afterwards whatever has come.
  let isSuspended = false
  lost.addEventListener('abort', () => {
    socket.destroy()
    if (!isSuspended) setImmediate(answer)
  })
  const note = watchEnds(onEnded)
  let isReady = false
  const read = byMessages((message) => {
    // All that may come then is that Postgres gives the session up.
    if (isSuspended) return
    note(message)
    if (!isReady && message[0] === types.readyForQuery) {
      isReady = true
      onReady?.()
    }
    isSuspended = message[0] === types.portalSuspended
    seen.emit('data', message)
  })
  socket
    .on('data', (chunk: Buffer) => lost.aborted || read(chunk))
    .on('drain', () => seen.emit('drain'))
    .on('error', lose)
    .on('end', () => lose(connectionClosed()))
    .on('close', () => lose(connectionClosed()))
  return Object.assign(seen, {
    readyState: 'open' as const,
    write(chunk: Buffer, done?: (error?: Error | null) => void) {
      isSuspended = false
      isCancel = chunk.length === 16 && chunk.readUInt32BE(4) === cancelRequest
      if (!lost.aborted) return socket.write(chunk, done)
      setImmediate(answer)
      done?.(lost.reason)
      return true
    },
    end: () => lose(connectionClosed()),
    destroy: () => lose(connectionClosed()),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  })
}

/** An error with the code that postgres.js gives to it. */
const connectionClosed = () =>
  Object.assign(new Error('The connection to Postgres was closed.'), { code: 'CONNECTION_CLOSED' })

/** What Postgres says at the end of a transaction. It says `ROLLBACK` for one to a savepoint too. */
const ends = new Set(['COMMIT', 'PREPARE TRANSACTION', 'ROLLBACK'])

/** Makes the function that sees the messages of Postgres, and reports how transactions end. */
function watchEnds(onEnded: (tag: string) => void): (message: Buffer) => void {
  let isOpen = false
  return (message) => {
    // Older releases of postgres.js wait for this only.
    if (message[0] === types.commandComplete && isOpen) {
      const tag = message.toString('latin1', 5, message.length - 1)
      if (ends.has(tag)) onEnded(tag)
    }
    if (message[0] === types.readyForQuery) isOpen = message[5] !== idle
  }
}

/** Passes on each message of Postgres when the whole of it has come, so that another one can follow at any time. */
function byMessages(pass: (message: Buffer) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let missing = 1
  return (chunk) => {
    chunks.push(chunk)
    missing -= chunk.length
    if (missing > 0) return
    const all = Buffer.concat(chunks)
    let from = 0
    let length = 5
    while (all.length >= from + 5) {
      // A type of one byte is before the length.
      length = 1 + all.readUInt32BE(from + 1)
      if (all.length < from + length) break
      pass(all.subarray(from, from + length))
      from += length
      length = 5
    }
    chunks = [all.subarray(from)]
    missing = from + length - all.length
  }
}
