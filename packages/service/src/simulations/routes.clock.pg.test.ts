import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { checkedFetch } from '../../test/contract.ts'
import { startSandbox } from '../sandbox/sandbox.ts'

const database = await testDatabase({ role: 'ordinary' })
const fetch = checkedFetch(globalThis.fetch)

let operator: string | undefined
const sandbox = await startSandbox({ databaseUrl: database.url, mayMoveClock: (clientId) => clientId === operator })
afterAll(() => sandbox.stop())

async function signIn() {
  const client = await sandbox.seedClient({ name: 'Tenant', accounts: [] })
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
  })
  const granted = await (await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body })).json()
  const { access_token: token } = granted as { access_token: string }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    clientId: client.clientId,
    async advance(seconds: number) {
      const init = { method: 'POST', headers, body: JSON.stringify({ seconds }) }
      const answer = await fetch(`${sandbox.url}/simulations/clock/advance`, init)
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
    },
    async read() {
      return (await (await fetch(`${sandbox.url}/simulations/clock`, { headers })).json()) as Record<string, unknown>
    },
  }
}

it('a tenant that may not move the clock of all tenants does not move it', async () => {
  const [first, second] = [await signIn(), await signIn()]
  operator = first.clientId
  const before = Date.parse(String((await second.read())['now']))
  const refused = await second.advance(7 * 86_400)
  expect([refused.status, refused.json['code']]).toEqual([403, 'forbidden'])
  expect(Date.parse(String((await second.read())['now'])) - before).toBeLessThan(60_000)

  const moved = await first.advance(3_600)
  expect(moved.status).toBe(200)
  expect(Date.parse(String((await second.read())['now'])) - before).toBeGreaterThanOrEqual(3_600_000)
})

it('the answers say whose clock it is', async () => {
  const tenant = await signIn()
  operator = tenant.clientId
  expect(await tenant.read()).toMatchObject({ applies_to: 'all_clients' })
  expect((await tenant.advance(0)).json).toMatchObject({ applies_to: 'all_clients' })
})
