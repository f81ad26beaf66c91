import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Sandbox, SeededClient } from '@outlay/service/sandbox'

/** A connection that sends arbitrary bytes. */
export interface RawConnection {
  readonly socket: Socket
  /** The bytes received so far. */
  readonly text: string
  /** True once the other side has ended it. */
  readonly closed: boolean
}

/** Connects to a base address and sends bytes. A connection that is refused or cut off is closed, not an error. */
export async function openRaw(url: string, bytes = ''): Promise<RawConnection> {
  const { port, hostname } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname })
  const connection = { socket, text: '', closed: false }
  socket.on('data', (chunk) => {
    connection.text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  socket.once('close', () => {
    connection.closed = true
  })
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined)
  socket.write(bytes)
  return connection
}

/** Authenticates a seeded client and returns its access token. */
export async function signIn(sandbox: Sandbox, { clientId, clientSecret }: SeededClient): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const granted = await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await granted.json()) as { access_token: string }).access_token
}
