import { isIP } from 'node:net'

/** What a server knows of the connection of a request. `serve()` of `@hono/node-server` gives it by itself. */
export interface Connection {
  /** Address of the client, for servers that do not give `incoming`. */
  readonly address?: string | undefined
  /** The request of `node:http`. */
  readonly incoming?: { readonly socket?: ConnectionSocket | undefined } | undefined
}

/** The members of a socket of Node that are read. */
export interface ConnectionSocket {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
  /** True for a TLS socket. */
  readonly encrypted?: boolean | undefined
}

/**
 * The base URL of this service, without a slash at the end: the configured one, or the address that the connection came to. Never from
 * a header, which the client writes. Empty when the server does not give the address.
 */
export function baseUrlOf(connection: Connection | undefined, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const { localAddress, localPort, encrypted } = connection?.incoming?.socket ?? {}
  if (localAddress === undefined || localPort === undefined) return ''
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/i, '')
  const host = isIP(address) === 6 ? `[${address}]` : address
  return `${encrypted === true ? 'https' : 'http'}://${host}:${localPort}`
}
