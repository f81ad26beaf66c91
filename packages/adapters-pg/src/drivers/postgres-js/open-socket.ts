import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'

/** A connection, which may be one of the host's own kind. */
export type HostSocket = Duplex & Pick<Partial<Socket>, 'ref' | 'unref'>

/** Where an instance of postgres.js connects to. */
export interface SocketOptions {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | false | undefined
  readonly ssl: unknown
  readonly sslnegotiation?: string | null | undefined
  readonly keep_alive: number | null
  /** Gives a socket of the host's own. */
  readonly socket?: ((options: unknown) => HostSocket | Promise<HostSocket>) | undefined
}

/** Connects to the first of the hosts as postgres.js would, until the signal says that nobody waits any more. */
export async function openSocket(options: SocketOptions, signal: AbortSignal): Promise<HostSocket> {
  const socket = await (options.socket?.(options) ?? connectTo(options))
  const closed = new AbortController()
  const close = () => closed.abort(new Error('Postgres has closed the connection.'))
  socket
    .on('error', () => undefined)
    .once('end', close)
    .once('close', close)
  const ended = AbortSignal.any([signal, closed.signal])
  try {
    ended.throwIfAborted()
    if (options.socket === undefined) await once(socket, 'connect', { signal: ended })
    return options.ssl ? await encrypt(socket, options, ended) : socket
  } catch (error) {
    socket.destroy()
    throw ended.aborted ? ended.reason : error
  }
}

function connectTo({ host: [host], port: [port], path, keep_alive: seconds }: SocketOptions): Socket {
  const keeping = { keepAlive: Boolean(seconds), keepAliveInitialDelay: 1_000 * (seconds ?? 0) }
  return connect(path ? { path } : { host: host ?? 'localhost', port: Number(port), ...keeping })
}

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

async function encrypt(socket: HostSocket, options: SocketOptions, signal: AbortSignal): Promise<HostSocket> {
  const { ssl, sslnegotiation } = options
  const isDirect = sslnegotiation === 'direct'
  if (!isDirect) {
    socket.write(sslRequest)
    const answer = String(await once(socket, 'data', { signal }))
    if (answer === 'N' && ssl === 'prefer') return socket
    // What follows an answer in the same packet was not encrypted.
    if (answer !== 'S') throw new Error('Postgres does not take an encrypted connection.')
  }
  const host = options.socket === undefined && !options.path ? options.host[0] : undefined
  const isLax = ssl === 'require' || ssl === 'allow' || ssl === 'prefer'
  const secure = connectTls({
    socket,
    ...(host === undefined || isIP(host) ? {} : { servername: host }),
    ...(isDirect ? { ALPNProtocols: ['postgresql'] } : {}),
    ...(isLax ? { rejectUnauthorized: false } : typeof ssl === 'object' ? ssl : {}),
  })
  secure.on('error', () => undefined)
  await once(secure, 'secureConnect', { signal })
  return secure
}
