import { setTimeout } from 'node:timers/promises'
import type { ServiceAccess } from './engine.ts'

/** Controls of a sandbox: incoming money, and the clock. */
export interface Sandbox {
  /** Deposits USDC in a wallet on Base. */
  deposit(wallet: { readonly accountId: string; readonly walletId: string }, amount: string): Promise<void>
  /** Moves the sandbox's clock forward; returns its date. */
  advance(hours: number): Promise<string>
}

/** Calls the `/simulations` routes. */
export async function openSandbox(service: ServiceAccess): Promise<Sandbox> {
  const { clientId, clientSecret } = service.credentials
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const granted = await fetch(new URL('/oauth2/token', service.baseUrl), {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await granted.json()) as { access_token?: string }

  const post = async (path: string, body: object, tries = 60): Promise<Record<string, unknown>> => {
    const response = await fetch(new URL(`/simulations/${path}`, service.baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // Nothing has happened yet: too many requests wait for the database of the service.
    if (response.status === 503 && tries > 1) {
      await setTimeout(1_000)
      return post(path, body, tries - 1)
    }
    if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
  return {
    async deposit({ accountId, walletId }, amount) {
      const wallet = { account_id: accountId, address_id: walletId, value_type: 'USDC', transfer_type: 'base' }
      await post('deposits', { ...wallet, amount })
    },
    async advance(hours) {
      const { now } = await post('clock/advance', { seconds: hours * 3_600 })
      return String(now).slice(0, 10)
    },
  }
}
