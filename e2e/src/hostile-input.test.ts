import { connect } from 'node:net'
import process from 'node:process'
import type { Random } from '@outlay/core'
import { inTransaction } from '@outlay/service'
import { startSandbox } from '@outlay/service/sandbox'
import { recordingLogger, seededRandom } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAttack } from './hostile-attack.ts'
import { dice, hostileRequest } from './hostile-requests.ts'
import { hostileRoutes } from './hostile-routes.ts'

const count = Number(process.env['OUTLAY_HOSTILE_REQUESTS'] ?? 60)
/** Where tests decide about a change, the requests are the same each time. */
const ownSeed = process.env['CI'] === undefined ? Math.floor(Math.random() * 2 ** 31) : 7_000
const seed = Number(process.env['OUTLAY_HOSTILE_SEED'] ?? ownSeed)

describe(`hostile input, ${count} requests to each route, OUTLAY_HOSTILE_SEED=${seed}`, async () => {
  const database = await testDatabase({ role: 'ordinary' })
  const logger = recordingLogger()
  const sandbox = await startSandbox({
    databaseUrl: database.url,
    logger,
    rateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
  })
  afterAll(() => sandbox.stop())
  let attack: Awaited<ReturnType<typeof openAttack>>
  beforeAll(async () => {
    attack = await openAttack(sandbox)
  })
  const random = (name: string): Random =>
    seededRandom(seed ^ [...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7))

  it('the list of routes is complete', async () => {
    const described = await sandbox.service.fetch(new Request(`${sandbox.url}/openapi.json`))
    if (described.status === 404) return
    const { paths } = (await described.json()) as { paths: Record<string, Record<string, unknown>> }
    const known = new Set(hostileRoutes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`))
    const routes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter((name) => /^(get|post|put|patch|delete)$/.test(name))
        .map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`),
    )
    expect(routes.filter((route) => !known.has(route) && !/ \/(openapi|docs)/.test(route))).toEqual([])
  })

  it.each(hostileRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s neither breaks, hangs nor leaks',
    async (name, route) => {
      const roll = dice(random(name))
      const wrong: unknown[] = []
      const logged = logger.entries.length
      let left = count
      const attacker = async () => {
        while (left-- > 0) {
          const request = hostileRequest(route, attack.knowledge, roll)
          const answer = await attack.send(request)
          const fault = attack.judge(answer)
          if (fault !== undefined) wrong.push({ fault, request: shorten(request), answer: shorten(answer) })
        }
      }
      await Promise.all([attacker(), attacker(), attacker(), attacker()])
      expect(wrong.slice(0, 5)).toEqual([])
      expect(logger.entries.slice(logged).filter(({ level }) => level === 'error')).toEqual([])
    },
    600_000,
  )

  it('bytes that are not valid HTTP are refused or cut off', async () => {
    const address = new URL(sandbox.url)
    for (const bytes of brokenMessages(attack.knowledge.token)) {
      const answer = await exchange(address, bytes)
      expect(answer, bytes.slice(0, 80)).not.toMatch(/^HTTP\/1\.1 5/)
      attack.expectNoCanary(answer)
    }
    expect((await fetch(`${sandbox.url}/health`)).status).toBe(200)
  })

  it('the other tenant has what it had, and the ledger sums to zero', async () => {
    await attack.expectVictimUnchanged()
    const { context } = sandbox.service
    const { schema } = context
    const [unbalanced, drifted, total] = await inTransaction(context, async (tx) => [
      await tx.query(
        `select posting_id, step, value_type from ${schema}.ledger_entry group by 1, 2, 3 having sum(amount) <> 0`,
      ),
      await tx.query(
        `select id from ${schema}.ledger_balance
          where kind = 'custodial'
            and (available <> entries_available or held <> entries_held or available < 0 or held < 0)`,
      ),
      await tx.query(`select count(*) as entries, sum(amount)::text as sum from ${schema}.ledger_entry`),
    ])
    expect([unbalanced?.rows, drifted?.rows]).toEqual([[], []])
    expect(Number(total?.rows[0].entries)).toBeGreaterThan(0)
    expect(Number(total?.rows[0].sum)).toBe(0)
  })
})

function shorten(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 1_500 ? `${text.slice(0, 1_500)}…` : text
}

function brokenMessages(token: string): readonly string[] {
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nIdempotency-Key: raw\r\nContent-Type: application/json\r\n`
  return [
    'nonsense\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    `GET /accounts HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
    'GET http://[bad/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET //accounts HTTP/1.1\r\nHost: \u0001\r\n\r\n',
    'GET /accounts HTTP/1.1\r\n\r\n',
    'GET /accounts\u0000 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    `POST /accounts HTTP/1.1\r\n${head}Content-Length: 10\r\nContent-Length: 2\r\n\r\n{}`,
    `POST /accounts HTTP/1.1\r\n${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `POST /accounts HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    `POST /accounts HTTP/1.1\r\n${head}Content-Length: -5\r\n\r\n{}`,
    `POST /accounts HTTP/1.1\r\n${head}Content-Length: 99999999999999999999\r\n\r\n{}`,
    `POST /accounts HTTP/1.1\r\n${head}Content-Length: 2\r\nExpect: nonsense\r\n\r\n{}`,
    'TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ]
}

/** Sends bytes and reads until the other side ends, or is silent for half a second. */
function exchange(address: URL, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(address.port), address.hostname)
    let text = ''
    const end = () => {
      socket.destroy()
      resolve(text)
    }
    socket.setTimeout(500, end)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', end)
    socket.on('close', end)
    socket.write(bytes)
  })
}
