import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  readonly url: string
}

/** Lets a server listen on 127.0.0.1, on any free port by default. */
export async function listen(server: Server, port = 0): Promise<Listening> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
