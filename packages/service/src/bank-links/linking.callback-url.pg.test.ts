import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testService } from '../../test/service.ts'
import { createApp } from '../app.ts'
import type { Connection } from '../http/connection.ts'
import { createBankLinking } from './linking.ts'
import { bankLinkRoutes } from './routes.ts'

const { pool } = await serviceDatabase()
const context = testContext({ pool })
const service = testService(context)
const { token } = await service.signIn()
const accountId = await service.createAccount(token)
const path = `/accounts/${accountId}/financial-institutions/register-account`

/** Asks as an attacker does who names another host. */
async function callbackUrl(publicUrl: string | undefined, connection?: Connection): Promise<unknown> {
  const { linking } = createBankLinking({ provider: 'simulated' }, context, context.clock)
  const parts = Object.getOwnPropertyDescriptors({ publicUrl })
  const configured = Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(context), ...parts })
  const { fetch } = createApp(configured as typeof context, [bankLinkRoutes(linking)])
  const request = new Request(`http://evil.example/accounts/${accountId}/banklink/link_token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, host: 'evil.example', 'x-forwarded-host': 'evil.example' },
  })
  const answer = (await (await fetch(request, connection)).json()) as { callback_url: unknown }
  return answer.callback_url
}

const socket = (localAddress: string, more: object = {}): Connection => ({
  incoming: { socket: { localAddress, localPort: 4010, ...more } },
})

it.each([
  ['the public URL', 'https://api.acme.example', socket('127.0.0.1'), 'https://api.acme.example'],
  ['the public URL with its path', 'https://acme.example/payouts/', undefined, 'https://acme.example/payouts'],
  ['the address that listens', undefined, socket('127.0.0.1'), 'http://127.0.0.1:4010'],
  ['an IPv6 address', undefined, socket('::1'), 'http://[::1]:4010'],
  ['a mapped address', undefined, socket('::ffff:10.0.0.7'), 'http://10.0.0.7:4010'],
  ['a TLS socket', undefined, socket('10.0.0.7', { encrypted: true }), 'https://10.0.0.7:4010'],
  ['nothing, if neither is known', undefined, undefined, ''],
])('the callback URL begins with %s, and never with what a header says', async (_, publicUrl, connection, base) => {
  expect(await callbackUrl(publicUrl, connection)).toBe(`${base}${path}`)
})
