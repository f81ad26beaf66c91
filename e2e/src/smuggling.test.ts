import { startSandbox } from '@outlay/service/sandbox'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { openRaw, signIn } from './raw-connection.ts'

/** A route that no valid request of this file uses. */
const wanted = '/accounts/:account_id/balances'

describe('one connection that a proxy shares between clients', async () => {
  const database = await testDatabase()
  const logger = recordingLogger()
  // Messages that never end are closed by these.
  const limits = { headersTimeoutMs: 1_000, requestTimeoutMs: 1_000, keepAliveTimeoutMs: 1_000 }
  const sandbox = await startSandbox({ databaseUrl: database.url, logger, limits })
  afterAll(() => sandbox.stop())
  const open = async (name: string) => {
    const seeded = await sandbox.seedClient({ name, accounts: [{ businessName: name }] })
    return { accountId: seeded.accounts[0]?.accountId ?? '', token: await signIn(sandbox, seeded) }
  }
  const attacker = await open('Attacker')
  const victim = await open('Victim')
  /** Sends bytes and returns all that the service sends until it closes the connection. */
  const exchange = async (bytes: string): Promise<string> => {
    const connection = await openRaw(sandbox.url, bytes)
    await waitUntil(() => connection.closed)
    return connection.text
  }
  const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  const routes = () => logger.entries.map(({ fields }) => fields['route']).filter((route) => route !== undefined)

  const get = (token?: string, more = '') =>
    `GET /accounts HTTP/1.1\r\nHost: localhost\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}${more}\r\n`
  /** The victim's next bytes on the same connection. */
  const next = get(victim.token, 'Connection: close\r\n')
  /** The beginning of a request that would swallow the victim's headers, its authorization among them. */
  const hidden = `GET /accounts/${victim.accountId}/balances HTTP/1.1\r\nHost: localhost\r\nX-Swallow: `
  const post = (framing: string, body: string) =>
    `POST /accounts/${attacker.accountId}/addresses/external HTTP/1.1\r\nHost: localhost\r\n` +
    `Authorization: Bearer ${attacker.token}\r\nIdempotency-Key: smuggle\r\nContent-Type: application/json\r\n` +
    `${framing}\r\n\r\n${body}`

  it('answers valid requests one after the other, each under its own authorization', async () => {
    const answer = await exchange(get(attacker.token) + get(victim.token) + get(undefined) + next)
    expect(statuses(answer)).toEqual(['200', '200', '401', '200'])
    const lists = [...answer.matchAll(/\{"accounts":\["(\w+)"/g)].map(([, id]) => id)
    expect(lists).toEqual([attacker.accountId, victim.accountId, victim.accountId])
  })

  it('shows in the log of this test when a hidden request is executed', async () => {
    await exchange(`${hidden}nothing\r\nConnection: close\r\n\r\n`)
    expect(routes()).toContain(wanted)
    expect(statuses(await exchange(`${hidden}nothing\r\nConnection: close\r\n\r\n`))).toEqual(['401'])
  })

  const chunked = `0\r\n\r\n${hidden}`
  const inChunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
  const ambiguous: readonly (readonly [string, string])[] = [
    ['length and chunks', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked`, chunked)],
    ['chunks and length', post(`Transfer-Encoding: chunked\r\nContent-Length: ${chunked.length}`, chunked)],
    ['chunks and a short length', post('Transfer-Encoding: chunked\r\nContent-Length: 4', inChunk)],
    [
      'a length and chunks in capitals',
      post(`Content-Length: ${chunked.length}\r\nTRANSFER-ENCODING: CHUNKED`, chunked),
    ],
    ['an unknown encoding', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: xchunked`, chunked)],
    ['an unknown encoding alone', post('Transfer-Encoding: xchunked', chunked)],
    ['chunks that are not last', post('Transfer-Encoding: chunked, identity', chunked)],
    ['two encodings', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', chunked)],
    [
      'two encodings the other way',
      post('Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 5', chunked),
    ],
    ['a space before the colon', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding : chunked`, chunked)],
    ['a tab before the colon', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding\t: chunked`, chunked)],
    ['a folded encoding', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding:\r\n chunked`, chunked)],
    [
      'an encoding folded into another header',
      post(
        `Content-Length: ${chunked.length}\r\nX-Fold: a\r\n Transfer-Encoding: chunked`,
        '0\r\n\r\n'.padEnd(chunked.length),
      ),
    ],
    [
      'a control character in the encoding',
      post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: \u000bchunked`, chunked),
    ],
    ['a quoted encoding', post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: "chunked"`, chunked)],
    ['two lengths', post(`Content-Length: ${chunked.length}\r\nContent-Length: 5`, chunked)],
    ['two lengths the other way', post(`Content-Length: 5\r\nContent-Length: ${chunked.length}`, chunked)],
    ['a list of lengths', post(`Content-Length: 5, ${chunked.length}`, chunked)],
    ['a length with a sign', post('Content-Length: +5', chunked)],
    ['a negative length', post('Content-Length: -5', chunked)],
    ['a length in hex', post('Content-Length: 0x5', chunked)],
    ['a length that overflows', post(`Content-Length: ${2n ** 64n + 5n}`, chunked)],
    ['a length with a fraction', post('Content-Length: 5.0', chunked)],
    ['a folded length', post(`Content-Length:\r\n ${chunked.length}\r\nContent-Length: 5`, chunked)],
    ['a chunk size in another notation', post('Transfer-Encoding: chunked', `0x0\r\n\r\n${hidden}`)],
    ['a chunk size that overflows', post('Transfer-Encoding: chunked', `10000000000000000\r\n${hidden}`)],
    ['a negative chunk size', post('Transfer-Encoding: chunked', `-1\r\n\r\n${hidden}`)],
    ['a chunk that ends with a bare line feed', post('Transfer-Encoding: chunked', `0\n\n${hidden}`)],
    ['a chunk longer than it says', post('Transfer-Encoding: chunked', `1\r\n{}\r\n0\r\n\r\n${hidden}`)],
    ['an extension with a bare line feed', post('Transfer-Encoding: chunked', `1;a\n{\r\n0\r\n\r\n${hidden}`)],
    ['headers that end with bare line feeds', post('Content-Length: 5', '').replaceAll('\r\n', '\n') + chunked],
    ['headers that end with bare carriage returns', post('Content-Length: 5', '').replaceAll('\r\n', '\r') + chunked],
    ['a NUL in a header', post(`X-Nul: a\u0000b\r\nContent-Length: 5`, chunked)],
  ]

  it.each(ambiguous)('that holds a message with %s is closed, with nothing after it executed', async (_, bytes) => {
    const before = routes().length
    const answer = await exchange(bytes + next)
    // The service may refuse the message itself; it does not read the bytes behind it.
    expect(statuses(answer).filter((status) => status !== '400')).toEqual([])
    expect(routes().slice(before)).not.toContain(wanted)
    expect(answer).not.toContain(victim.accountId)
  })

  it.each([
    ['GET /accounts', get(attacker.token, `Content-Length: ${hidden.length}\r\n`) + hidden],
    [
      'POST /oauth2/token',
      `POST /oauth2/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    ],
    [
      'POST to nowhere',
      `POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    ],
    ['POST without authorization', post(`Content-Length: ${hidden.length}`, hidden).replace(attacker.token, 'nobody')],
  ])('reads the body of %s as nothing else, read or not', async (_, bytes) => {
    const before = routes().length
    const answer = await exchange(bytes + next)
    expect(routes().slice(before)).not.toContain(wanted)
    // The victim's own request is answered as such, or the connection ended before it.
    const after = statuses(answer).slice(1)
    expect([[], ['200']]).toContainEqual(after)
    if (after.length === 1) expect(answer.slice(answer.lastIndexOf('HTTP/1.1'))).toContain(victim.accountId)
  })
})
