import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createOutgoingAgent, isPrivateAddress, parseOutgoingUrl } from './outgoing-url.ts'

let hits = 0
const server = createServer((_, response) => {
  hits += 1
  response.end('reached')
})
let port = 0
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => server.close())

it.each([
  '127.0.0.1',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '255.255.255.255',
  '224.0.0.1',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fe80::1',
  'fd00::1',
  'ff02::1',
  'not an address',
])('takes %s for private', (address) => {
  expect(isPrivateAddress(address)).toBe(true)
})

it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
  'takes %s for public',
  (address) => {
    expect(isPrivateAddress(address)).toBe(false)
  },
)

it.each([
  'https://127.0.0.1/hook',
  'https://0x7f.1/hook',
  'https://2130706433/hook',
  'https://0177.0.0.1/hook',
  'https://[::1]/hook',
  'https://[::ffff:127.0.0.1]/hook',
  'https://localhost/hook',
  'https://api.localhost./hook',
  'https://metadata.internal/hook',
  'https://intranet/hook',
  'https://user:password@example.com/hook',
  'http://example.com/hook',
  'ftp://example.com/hook',
  'file:///etc/passwd',
  'nonsense',
  '',
  7,
])('refuses %s as the URL of a webhook', (url) => {
  expect(() => parseOutgoingUrl(url, 'url', { allowPrivate: false })).toThrow(expect.objectContaining({ field: 'url' }))
})

it('accepts a public https URL, and a private plain one where that is allowed', () => {
  expect(parseOutgoingUrl('https://example.com/a?b=c', 'url', { allowPrivate: false }).href).toBe(
    'https://example.com/a?b=c',
  )
  expect(parseOutgoingUrl('http://localhost:1/a', 'url', { allowPrivate: true }).port).toBe('1')
})

it.each(['127.0.0.1', 'localhost', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]'])(
  'makes no connection to %s, literal or resolved',
  async (host) => {
    const agent = createOutgoingAgent({ allowPrivate: false }, 2_000)
    const before = hits
    await expect(request(`http://${host}:${port}/`, { dispatcher: agent })).rejects.toThrow('private address')
    expect(hits).toBe(before)
    await agent.close()
  },
)

it('connects to a private address where that is allowed', async () => {
  const agent = createOutgoingAgent({ allowPrivate: true }, 2_000)
  const { body } = await request(`http://127.0.0.1:${port}/`, { dispatcher: agent })
  expect(await body.text()).toBe('reached')
  await agent.close()
})
