import { type Sandbox, startSandbox } from '@outlay/service/sandbox'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { openRaw, type RawConnection, signIn } from './raw-connection.ts'
import { seedClient, setStage } from './stage.ts'

const count = 40

/** Ways to keep a connection busy without ever ending a request. Each has the bytes sent first and those sent in drips. */
const slowWays = (token: string, accountId: string) => {
  const create = `POST /accounts/${accountId}/transfers HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: slow\r\n`
  const keyed = `${create}Content-Type: application/json\r\nAuthorization: Bearer ${token}\r\n`
  return {
    'says nothing': { first: '', drip: '' },
    'drips its request line': { first: 'GET /acc', drip: 'o' },
    'drips its headers': { first: 'GET /accounts HTTP/1.1\r\nHost: localhost\r\n', drip: 'X-Slow: 1\r\n' },
    'drips one header without end': { first: 'GET /accounts HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', drip: '1' },
    'drips the body of a create': { first: `${keyed}Content-Length: 100000\r\n\r\n{`, drip: ' ' },
    'drips the chunks of a create': {
      first: `${keyed}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      drip: '1\r\n \r\n',
    },
    'drips a body that nobody asked for': {
      first: 'GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n',
      drip: ' ',
    },
    'drips the form of a token': {
      first:
        'POST /oauth2/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 15000\r\n\r\ngrant_type=',
      drip: 'x',
    },
  }
}

/** Opens slow connections, and lets them drip until they are closed or the function that it gives is called. */
async function dripAt(url: string, { first, drip }: { readonly first: string; readonly drip: string }, number = count) {
  const held: RawConnection[] = await Promise.all(Array.from({ length: number }, () => openRaw(url, first)))
  const timer = setInterval(() => {
    for (const { socket, closed } of held) if (!closed && socket.writable && drip !== '') socket.write(drip)
  }, 100)
  return {
    held,
    end: () => {
      clearInterval(timer)
      for (const { socket } of held) socket.destroy()
    },
  }
}

describe('a client that', async () => {
  const database = await testDatabase()
  const logger = recordingLogger()
  // The database allows few connections, so a slow client that held one would be noticed.
  const patient = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000, idleTimeoutMs: 600_000 }
  const options = { databaseUrl: database.url, poolSize: 6, logger }
  const holding = await startSandbox({ ...options, limits: patient })
  const strict = await startSandbox({
    ...options,
    limits: { headersTimeoutMs: 500, requestTimeoutMs: 1_000, keepAliveTimeoutMs: 500, maxConnections: 100 },
  })
  const seeded = await holding.seedClient(seedClient)
  const token = await signIn(holding, seeded)
  const accountId = seeded.accounts[0]?.accountId ?? ''
  const ways = slowWays(token, accountId)
  const names = Object.keys(ways) as (keyof typeof ways)[]
  afterAll(async () => {
    await strict.stop()
    await holding.stop()
  })
  const isServed = async (sandbox: Sandbox) => {
    const response = await fetch(`${sandbox.url}/accounts`, { headers: { authorization: `Bearer ${token}` } })
    return response.status === 200
  }

  it.each(names)('%s keeps nobody else from being served', async (name) => {
    const slow = await dripAt(holding.url, ways[name])
    try {
      const stage = await setStage(holding.url, seeded)
      const created = await stage.client.transfers.create(accountId, stage.request(), {
        idempotencyKey: `quick ${name}`.replaceAll(' ', '-'),
      })
      expect(created.id).toMatch(/^\w{26}$/)
      expect(await isServed(holding)).toBe(true)
      // They stay open: the time limits of this server are longer than any test.
      const answered = name === 'drips a body that nobody asked for'
      expect(slow.held.every(({ closed, text }) => answered || (!closed && text === ''))).toBe(true)
      await stage.client.close()
    } finally {
      slow.end()
    }
  })

  it.each(names)('%s is cut off', async (name) => {
    const slow = await dripAt(strict.url, ways[name])
    try {
      await waitUntil(() => slow.held.every(({ closed }) => closed), {
        timeoutMs: 60_000,
        describe: () => `${slow.held.filter(({ closed }) => !closed).length} connections to be closed`,
      })
      for (const { text } of slow.held) expect(text).toMatch(/^$|^HTTP\/1\.1 (408|400|200) /)
      await waitUntil(() => isServed(strict).catch(() => false))
    } finally {
      slow.end()
    }
  })

  it('opens more connections than the limit holds only so many, and the others are closed at once', async () => {
    const few = await startSandbox({ ...options, limits: { ...patient, maxConnections: 20 } })
    const slow = await dripAt(few.url, ways['drips its headers'], 60)
    try {
      await waitUntil(() => slow.held.filter(({ closed }) => closed).length === 40)
      slow.end()
      await waitUntil(() => isServed(few).catch(() => false))
    } finally {
      slow.end()
      await few.stop()
    }
  })

  it('disconnects in the middle of a body raises no alarm for an operator', async () => {
    const answered = () =>
      logger.entries.filter(
        ({ fields }) => fields['route'] === '/accounts/:account_id/transfers' && fields['status'] === 400,
      )
    const before = answered().length
    const { socket } = await openRaw(holding.url, ways['drips the body of a create'].first)
    await waitUntil(() => socket.bytesWritten > 0)
    socket.destroy()
    await waitUntil(() => answered().length > before)
    expect(logger.entries.filter(({ level }) => level === 'error')).toEqual([])
  })
})
