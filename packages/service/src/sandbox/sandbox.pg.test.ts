import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { testDatabase } from '@outlay/testing/vitest'
import { afterEach, expect, it, vi } from 'vitest'
import { checkedFetch } from '../../test/contract.ts'
import type { SeededClient } from './sandbox.ts'

const fetch = checkedFetch(globalThis.fetch)

const database = await testDatabase({ role: 'ordinary' })
const running = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
})

const start = async (seed?: unknown) => {
  const child = spawn(process.execPath, [new URL('../../dist/sandbox/main.js', import.meta.url).pathname], {
    env: { ...process.env, DATABASE_URL: database.url, ...(seed === undefined ? {} : { SEED: JSON.stringify(seed) }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = JSON.parse(line) as { url: string; clients: SeededClient[] }
    return { child, ...ready }
  }
  throw new Error('The sandbox ended before it was ready.')
}

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> => {
  const exited = once(child, 'exit')
  child.kill(signal)
  const [code] = await exited
  return code as number | null
}

/** Makes calls as a client. Each signs in again, because the service may have been restarted. */
const callerOf =
  (client: SeededClient) => async (url: string, method: string, path: string, body?: unknown, key?: string) => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    })
    const granted = (await (await fetch(`${url}/oauth2/token`, { method: 'POST', body: form })).json()) as {
      access_token: string
    }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${granted.access_token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as Record<string, unknown>
  }

it('a sandbox that is killed in the middle of its payments loses none and pays none twice', async () => {
  const seed = [
    {
      name: 'Test',
      accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount: '40' }] }],
    },
  ]
  const first = await start(seed)
  const [client] = first.clients
  const account = client?.accounts[0]
  const wallet = account?.wallets[0]
  if (client === undefined || account === undefined || wallet === undefined) throw new Error('Nothing was seeded.')
  const call = callerOf(client)
  const base = `/accounts/${account.accountId}`
  const payee = await call(
    first.url,
    'POST',
    `${base}/addresses/external`,
    { name: 'Payee', address: '0x52908400098527886E0F7030069857D2E4169EE7', transfer_types: ['base'] },
    'payee',
  )
  const pay = (url: string, key: number) =>
    call(
      url,
      'POST',
      `${base}/transfers`,
      {
        amount: { value: '1', currency: 'USDC' },
        source: { address_id: wallet.addressId, value_type: 'USDC', transfer_type: 'base' },
        destination: { address_id: payee['id'], value_type: 'USDC', transfer_type: 'base' },
      },
      `payment-${key}`,
    )
  const keys = Array.from({ length: 40 }, (_, at) => at)
  const before = Promise.allSettled(keys.map((key) => pay(first.url, key)))
  await pay(first.url, 0)
  await end(first.child, 'SIGKILL')
  await before

  const second = await start()
  await Promise.all(keys.map((key) => pay(second.url, key)))
  await vi.waitFor(
    async () => {
      await call(second.url, 'POST', '/simulations/clock/advance', { seconds: 60 })
      const { transfers } = (await call(second.url, 'GET', `${base}/transfers?status=complete&page[size]=100`)) as {
        transfers: unknown[]
      }
      expect(transfers).toHaveLength(40)
    },
    { timeout: 60_000, interval: 250 },
  )
  const { balances } = (await call(second.url, 'GET', '/balances')) as { balances: { balance: { value: string } }[] }
  expect(balances[0]?.balance.value).toBe('0.00')
  expect(await end(second.child, 'SIGTERM')).toBe(0)
})
