import { createSocket } from 'node:dgram'
import { type LookupAddress, lookup, Resolver } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createNames,
  createOutgoingAgent,
  isPrivateAddress,
  type OutgoingNetwork,
  parseOutgoingUrl,
} from './outgoing-url.ts'

let hits = 0
const server = createServer((request, response) => {
  hits += 1
  if (request.url === '/away') response.writeHead(302, { location: `http://127.0.0.1:${port}/` })
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
  '::ffff:169.254.169.254',
  '::ffff:0:127.0.0.1',
  '::127.0.0.1',
  '::8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a00:1',
  '64:ff9b::8.8.8.8',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:db8::1',
  '3fff::1',
  'fe80::1%lo',
  '2606:4700:4700::1111%lo',
  'fec0::1',
  '100::1',
  '5f00::1',
  '4000::1',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '240.0.0.1',
  '127.0.0.1.',
  '0x7f000001',
  '',
  'fe80::1',
  'fd00::1',
  'ff02::1',
  'not an address',
])('treats %s as private', (address) => {
  expect(isPrivateAddress(address)).toBe(true)
})

it.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
])('treats %s as public', (address) => {
  expect(isPrivateAddress(address)).toBe(false)
})

it.each([
  'https://127.0.0.1/hook',
  'https://0x7f.1/hook',
  'https://2130706433/hook',
  'https://0177.0.0.1/hook',
  'https://017700000001/hook',
  'https://0x7f000001/hook',
  'https://127.1/hook',
  'https://127.0.0.1./hook',
  'https://127.0.0.1:8443/hook',
  'https://127。0。0。1/hook',
  'https://１２７.0.0.1/hook',
  'https://%31%32%37.0.0.1/hook',
  'https://127.0.0.1\\@example.com/hook',
  'https:127.0.0.1/hook',
  'https://[::ffff:7f00:1]:8443/hook',
  'https://[::ffff:0:7f00:1]/hook',
  'https://[64:ff9b::127.0.0.1]/hook',
  'https://[2002:7f00:1::]/hook',
  'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/hook',
  'https://[::127.0.0.1]/hook',
  'https://[fe80::1%25lo]/hook',
  'https://[::1]/hook',
  'https://[::ffff:127.0.0.1]/hook',
  'https://localhost/hook',
  'https://localhost./hook',
  'https://LOCALHOST/hook',
  'https://api.localhost./hook',
  'https://printer.local/hook',
  'https://metadata.internal/hook',
  'https://metadata.google.internal./hook',
  'https://intranet/hook',
  'https://intranet./hook',
  'https://user@example.com/hook',
  'https://:password@example.com/hook',
  'https://8.8.8.8@127.0.0.1/hook',
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

it.each([22, 25, 80, 3306, 5432, 6379, 9200])('refuses port %i, which receivers of webhooks do not have', (other) => {
  const read = () => parseOutgoingUrl(`https://example.com:${other}/a`, 'url', { allowPrivate: false })
  expect(read).toThrow('must have one of the ports 443, 8443')
})

it('accepts the ports of the list, and every port of a private address where that is allowed', () => {
  const portOf = (url: string, ports?: readonly number[], allowPrivate = false) =>
    parseOutgoingUrl(url, 'url', { allowPrivate, ports }).port
  expect([portOf('https://example.com/a'), portOf('https://example.com:8443/a')]).toEqual(['', '8443'])
  expect(portOf('https://example.com:9000/a', [9000])).toBe('9000')
  expect(() => portOf('https://example.com/a', [9000])).toThrow('must have one of the ports 9000')
  expect(portOf('http://127.0.0.1:5432/a', undefined, true)).toBe('5432')
  expect(portOf('http://example.com/a', undefined, true)).toBe('')
  expect(() => portOf('http://example.com:8080/a', undefined, true)).toThrow('must have one of the ports')
})

it('makes no connection to another port, not even for a URL that was registered earlier', async () => {
  const { asked, resolve } = names(['127.0.0.1'])
  const agent = createOutgoingAgent({ allowPrivate: false }, 2_000, { resolve, isPrivate: () => false })
  const before = hits
  await expect(request(`http://hook.example:${port}/`, { dispatcher: agent })).rejects.toThrow('port')
  expect([asked, hits]).toEqual([[], before])
  await agent.close()
})

it.each([
  '127.0.0.1',
  'localhost',
  '0x7f.1',
  '0177.1',
  '2130706433',
  '127.0.0.1.',
  '[::ffff:127.0.0.1]',
  '[::1]',
  '[64:ff9b::127.0.0.1]',
  'nobody@127.0.0.1',
])('makes no connection to %s, literal or resolved', async (host) => {
  const agent = createOutgoingAgent({ allowPrivate: false }, 2_000)
  const before = hits
  await expect(request(`http://${host}:${port}/`, { dispatcher: agent })).rejects.toThrow('private address')
  expect(hits).toBe(before)
  await agent.close()
})

/** Names that resolve to the given answers, one after the other. The last one stays. */
function names(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const resolve: OutgoingNetwork['resolve'] = (hostname, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(hostname)
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { asked, resolve }
}

it.each([
  ['10.0.0.1'],
  ['127.0.0.1'],
  ['::1'],
  ['::ffff:127.0.0.1'],
  ['64:ff9b::7f00:1'],
  ['8.8.8.8', '127.0.0.1'],
  ['127.0.0.1', '8.8.8.8'],
  ['2606:4700:4700::1111', '::1'],
  [],
])('makes no connection to a name that resolves to %s and %s', async (...addresses) => {
  const { asked, resolve } = names(addresses)
  const policy = { allowPrivate: false, ports: [port] }
  const agent = createOutgoingAgent(policy, 2_000, { resolve, isPrivate: isPrivateAddress })
  const before = hits
  await expect(request(`http://hook.example:${port}/`, { dispatcher: agent })).rejects.toThrow('private address')
  expect([asked, hits]).toEqual([['hook.example'], before])
  await agent.close()
})

describe('where 127.0.0.1 stands for the internet', () => {
  const isPrivate = (address: string) => address !== '127.0.0.1'
  const open = (resolve: OutgoingNetwork['resolve']) =>
    createOutgoingAgent({ allowPrivate: false, ports: [port] }, 2_000, { resolve, isPrivate })
  const ask = (agent: ReturnType<typeof open>, path = '/') =>
    request(`http://hook.example:${port}${path}`, { dispatcher: agent, headers: { connection: 'close' } })

  it('a connection goes to the checked address, even if the name resolves to another one later', async () => {
    const before = hits
    const { asked, resolve } = names(['127.0.0.1'], ['10.0.0.1'])
    const agent = open(resolve)
    expect(await (await ask(agent)).body.text()).toBe('reached')
    expect(asked).toEqual(['hook.example'])
    await expect(ask(agent)).rejects.toThrow('private address')
    expect(asked).toEqual(['hook.example', 'hook.example'])
    expect(hits).toBe(before + 1)
    await agent.close()
  })

  it('a redirect is an answer like any other, and is not followed', async () => {
    const before = hits
    const agent = open(names(['127.0.0.1']).resolve)
    const { statusCode, headers, body } = await ask(agent, '/away')
    await body.dump()
    expect([statusCode, headers.location]).toEqual([302, `http://127.0.0.1:${port}/`])
    expect(hits).toBe(before + 1)
    await agent.close()
  })

  it('a name that cannot be resolved is an error of the connection', async () => {
    const agent = open((_name, _options, callback) => callback(new Error('no such name'), []))
    await expect(ask(agent)).rejects.toThrow('no such name')
    await agent.close()
  })
})

it('connects to a private address where that is allowed', async () => {
  const agent = createOutgoingAgent({ allowPrivate: true }, 2_000)
  const { body } = await request(`http://127.0.0.1:${port}/`, { dispatcher: agent })
  expect(await body.text()).toBe('reached')
  await agent.close()
})

it('resolves a name while very many others hang, and takes no thread from the rest of the process', async () => {
  // A name server that answers for one name, with 192.0.2.7, and never for others.
  const nameServer = createSocket('udp4', (query, from) => {
    const name = Buffer.from('\x04well\x07example\0')
    if (!query.subarray(12).toString('latin1').startsWith(name.toString('latin1'))) return
    const question = query.subarray(12, 12 + name.length + 4)
    const isIPv4 = question.readUInt16BE(name.length) === 1
    const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, isIPv4 ? 1 : 0, 0, 0, 0, 0])
    query.copy(header, 0, 0, 2)
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
    nameServer.send(Buffer.concat(isIPv4 ? [header, question, answer] : [header, question]), from.port, from.address)
  })
  nameServer.bind(0, '127.0.0.1')
  await once(nameServer, 'listening')
  const resolver = new Resolver({ timeout: 60_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${nameServer.address().port}`])
  const resolve = createNames(resolver)
  const find = (name: string) =>
    new Promise<unknown>((done) => resolve(name, { all: true }, (error, found) => done(error?.code ?? found)))
  let hanging = 64
  const hung = Array.from({ length: hanging }, async (_, index) => {
    const outcome = await find(`hangs-${index}.example`)
    hanging -= 1
    return outcome
  })
  expect(await find('well.example')).toEqual([{ address: '192.0.2.7', family: 4 }])
  await new Promise((done) => lookup('localhost', done))
  expect(hanging).toBe(64)
  resolver.cancel()
  expect(new Set(await Promise.all(hung))).toEqual(new Set(['ECANCELLED']))
  nameServer.close()
})
