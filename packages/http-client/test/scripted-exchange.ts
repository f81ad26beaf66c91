import type { Gateway } from '@outlay/core'
import { afterEach, beforeEach } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../src/client.ts'
import { type HttpGatewayOptions, httpGateway } from '../src/gateway.ts'
import { type ScriptedServer, startServer } from './scripted-server.ts'

/** A server with a script, and what calls it. */
export interface Exchange {
  readonly server: ScriptedServer
  /** A client that waits for no retry, or the one that was opened last. */
  readonly client: Client
  /** A gateway with the usual options, or the one that was opened last. */
  readonly gateway: Gateway
  openClient(options?: Partial<ClientOptions>): Client
  openGateway(options?: Partial<HttpGatewayOptions>): Gateway
}

const credentials = { clientId: 'client', clientSecret: 'secret' }

/** Starts a scripted server before each test of the file, and closes it afterwards, with the clients and gateways that called it. */
export function scriptedExchange(): Exchange {
  let server: ScriptedServer
  let client: Client | undefined
  let gateway: Gateway | undefined
  let opened: Pick<Gateway, 'close'>[] = []
  beforeEach(async () => {
    server = await startServer()
  })
  afterEach(async () => {
    await server.close()
    for (const one of opened) await one.close?.()
    opened = []
    client = undefined
    gateway = undefined
  })
  const openClient: Exchange['openClient'] = (options = {}) => {
    client = createClient({ baseUrl: server.url, credentials, wait: async () => {}, ...options })
    opened.push(client)
    return client
  }
  const openGateway: Exchange['openGateway'] = (options = {}) => {
    gateway = httpGateway({ baseUrl: server.url, credentials, ...options })
    opened.push(gateway)
    return gateway
  }
  return {
    get server() {
      return server
    },
    get client() {
      return client ?? openClient()
    },
    get gateway() {
      return gateway ?? openGateway()
    },
    openClient,
    openGateway,
  }
}
