import { randomBytes } from 'node:crypto'
import type { Credentials } from '@outlay/http-client'
import { type Sandbox, type SeededClient, startSandbox } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'

/** The service of a harness, with the operations that only a sandbox has. */
export interface Simulations {
  readonly sandbox: Sandbox
  /** Posts to a route below `/simulations`, with the credentials of a client. Throws with the answer unless it succeeds. */
  post(credentials: Credentials, path: string, body: Readonly<Record<string, unknown>>): Promise<void>
  /** Moves the service's time forward by `ms` milliseconds and delivers what became due. */
  advance(ms: number): Promise<void>
  /** Waits until the service has sent everything to its rails and has applied everything that they reported. */
  settle(): Promise<void>
}

/** Starts the service on its database. */
export async function startSimulations(databaseUrl: string): Promise<Simulations> {
  const sandbox = await startSandbox({
    databaseUrl,
    // The database ends with the harness, wherever it is.
    encryptionKey: randomBytes(32),
    allowPrivateWebhooks: true,
    engine: { pollIntervalMs: 50 },
  })
  const tokens = new Map<string, Promise<string>>()
  const token = (credentials: Credentials) => {
    const known = tokens.get(credentials.clientId) ?? requestToken(sandbox.url, credentials)
    tokens.set(credentials.clientId, known)
    return known
  }
  const post: Simulations['post'] = async (credentials, path, body) => {
    const answer = await fetch(`${sandbox.url}/simulations${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await token(credentials)}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`The service refuses ${path}: HTTP ${answer.status} ${await answer.text()}`)
  }
  let keeper: Promise<SeededClient> | undefined
  return {
    sandbox,
    post,
    async advance(ms) {
      keeper ??= sandbox.seedClient({ name: 'Keeper of the clock', accounts: [] }).catch((error: unknown) => {
        keeper = undefined
        throw error
      })
      await post(await keeper, '/clock/advance', { seconds: ms / 1000 })
    },
    async settle() {
      let last: unknown
      await waitUntil(
        async () => {
          const backlog = await sandbox.service.context.engine.backlog()
          last = backlog
          return backlog.queued + backlog.submitting + backlog.undelivered === 0
        },
        { timeoutMs: 60_000, describe: () => `the service to be done; its backlog is ${JSON.stringify(last)}` },
      )
    },
  }
}

async function requestToken(url: string, { clientId, clientSecret }: Credentials): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const granted = await fetch(`${url}/oauth2/token`, { method: 'POST', body })
  if (!granted.ok) throw new Error(`The service gives no token: HTTP ${granted.status} ${await granted.text()}`)
  return ((await granted.json()) as { readonly access_token: string }).access_token
}
