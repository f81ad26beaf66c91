import { randomUUID } from 'node:crypto'
import { type Sandbox, type SandboxOptions, type SeedFunds, startSandbox } from '../src/sandbox/sandbox.ts'
import { checkedFetch } from './contract.ts'

/** JSON of an answer. */
export type Json = Readonly<Record<string, unknown>>

/** An answer of the service under test. */
export interface TestAnswer<Body = Json> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

/** One request to the service under test. */
export interface TestCall {
  readonly body?: unknown
  /** Idempotency key; a create gets a fresh one when there is none. */
  readonly key?: string
}

/** A running sandbox with one client and its first account. */
export interface TestSandbox {
  readonly sandbox: Sandbox
  readonly accountId: string
  readonly otherAccountId: string
  /** Wallet of the first account on the EVM chains. */
  readonly walletId: string
  readonly otherWallet: { readonly addressId: string; readonly address: string }
  call<Body = Json>(method: string, path: string, call?: TestCall): Promise<TestAnswer<Body>>
  stop(): Promise<void>
  /** Stops the sandbox, and starts it again after `meanwhile`. `sandbox` is another one then. */
  restart(meanwhile: () => Promise<void>): Promise<void>
}

/** Starts a sandbox on a database and signs a client in. */
export async function testSandbox(
  databaseUrl: string,
  funds: readonly SeedFunds[] = [],
  options: Omit<SandboxOptions, 'databaseUrl'> = {},
): Promise<TestSandbox> {
  let sandbox = await startSandbox({ ...options, databaseUrl })
  const client = await sandbox.seedClient({
    name: 'Test',
    accounts: [{ businessName: 'Acme Payments LLC', funds }, { businessName: 'Managed Inc' }],
  })
  const [first, second] = client.accounts
  const wallet = first?.wallets[0]
  const otherWallet = second?.wallets[0]
  if (first === undefined || second === undefined || wallet === undefined || otherWallet === undefined) {
    throw new Error('The sandbox has not created the requested client.')
  }
  const fetch = checkedFetch((request) => {
    const { hostname: localAddress, port } = new URL(sandbox.url)
    return sandbox.service.fetch(request, { incoming: { socket: { localAddress, localPort: Number(port) } } })
  })
  const token = await signIn(sandbox, client.clientId, client.clientSecret)
  return {
    get sandbox() {
      return sandbox
    },
    accountId: first.accountId,
    otherAccountId: second.accountId,
    walletId: wallet.addressId,
    otherWallet,
    stop: () => sandbox.stop(),
    async restart(meanwhile) {
      await sandbox.stop()
      await meanwhile()
      sandbox = await startSandbox({ ...options, databaseUrl })
    },
    async call<Body = Json>(method: string, path: string, { body, key }: TestCall = {}) {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` }
      if (body !== undefined) headers['content-type'] = 'application/json'
      if (method === 'POST') headers['idempotency-key'] = key ?? randomUUID()
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await fetch(new Request(`${sandbox.url}${path}`, init))
      return { status: response.status, headers: response.headers, body: (await response.json()) as Body }
    },
  }
}

async function signIn(sandbox: Sandbox, clientId: string, clientSecret: string): Promise<string> {
  const response = await checkedFetch(fetch)(`${sandbox.url}/oauth2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }).toString(),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return token
}
