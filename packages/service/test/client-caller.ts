import type { Sandbox, SeedClient, SeededClient } from '../src/sandbox/sandbox.ts'

/** Sends as a client: a GET without a body, else a POST under a fresh idempotency key. */
export type ClientCall = (
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly json: Record<string, unknown> }>

/** A client of a sandbox that has signed in. */
export interface SignedInClient {
  readonly seeded: SeededClient
  readonly token: string
  /** Makes its calls through a `fetch`; default that of the sandbox. */
  caller(send?: (request: Request) => Promise<Response>): ClientCall
}

/** Seeds a client and signs it in. */
export async function signInClient(sandbox: Sandbox, client: SeedClient): Promise<SignedInClient> {
  const seeded = await sandbox.seedClient(client)
  const { clientId, clientSecret } = seeded
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const request = new Request(`${sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await (await sandbox.service.fetch(request)).json()) as { access_token: string }
  return {
    seeded,
    token,
    caller(send = sandbox.service.fetch) {
      return async (path, body) => {
        const keyed = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
        const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : keyed) }
        const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
        const response = await send(new Request(`${sandbox.url}${path}`, init))
        return { status: response.status, json: (await response.json()) as Record<string, unknown> }
      }
    },
  }
}
