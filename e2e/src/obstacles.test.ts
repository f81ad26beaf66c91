import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { runOutlay } from '@outlay/cli'
import { createEngine, type EnqueueRequest, type Logger } from '@outlay/core'
import { type HttpGatewayOptions, httpGateway } from '@outlay/http-client'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateHost } from './host.ts'

const payout: EnqueueRequest = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
}

/** A service with a token endpoint that accepts every transfer; at other paths it has what a web server has there. */
const serve: RequestListener = (request, response) => {
  request.resume()
  const json = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (request.url === '/oauth2/token')
    return void json(200, { access_token: 't', token_type: 'Bearer', expires_in: 600 })
  if (request.url === '/accounts/acme/transfers' && request.method === 'POST')
    return void json(201, { id: 'transfer-1' })
  if (request.url === '/denying/oauth2/token') return void json(401, { error: 'invalid_client' })
  response.writeHead(404, { 'content-type': 'text/html' }).end('<html>Not found</html>')
}

const listen = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A certificate that nobody has signed, for localhost; undefined where there is no openssl. */
function makeCertificate() {
  if (spawnSync('openssl', ['version']).error !== undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const files = ['-nodes', '-keyout', key, '-out', cert, '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', '-x509', ...curve, ...files], { stdio: 'ignore' })
  const pair = { key: readFileSync(key), cert: readFileSync(cert) }
  rmSync(folder, { recursive: true })
  return pair
}

describe('a gateway that does not get through', async () => {
  const database = await testDatabase({ key: 'host', prepare: migrateHost })
  const server = createServer(serve)
  const port = await listen(server)
  const certificate = makeCertificate()
  const tls = createTlsServer(certificate ?? {}, serve)
  const tlsPort = await listen(tls)
  const unused = createServer()
  const unusedPort = await listen(unused)
  await new Promise((resolve) => unused.close(resolve))
  afterAll(() => {
    for (const one of [server, tls]) {
      one.close()
      one.closeAllConnections()
    }
  })

  async function open(options: Partial<HttpGatewayOptions>) {
    const url = await database.another()
    const pool = new pg.Pool({ connectionString: url })
    const driver = pgDriver(pool)
    const warnings: { readonly message: string; readonly reason: unknown; readonly accountId: unknown }[] = []
    const logger: Logger = {
      debug() {},
      info() {},
      warn: ({ reason, accountId }, message) => void warnings.push({ message, reason, accountId }),
      error() {},
    }
    const credentials = { clientId: 'c1', clientSecret: 's' }
    const gateway = httpGateway({ baseUrl: `http://127.0.0.1:${port}`, credentials, ...options })
    const engine = createEngine({ backend: postgres({ driver }), gateway, runtime: { logger } })
    const { id } = await driver.transaction((tx) => engine.transfers.enqueue(tx, payout))
    await engine.start()
    const outlay = async (...args: string[]) => {
      const written: string[] = []
      const write = (text: string) => void written.push(text)
      const around = { env: { DATABASE_URL: url }, signal: new AbortController().signal, interactive: false }
      const code = await runOutlay(args, { ...around, stdout: write, stderr: write })
      return { code, text: written.join('') }
    }
    const reach = (wanted: { readonly reason?: string; readonly stage?: string; readonly attempt?: number }) =>
      waitUntil(async () => {
        const { reason, stage, attempt } = (await engine.transfers.get(id)) ?? {}
        return (
          (wanted.reason === undefined || wanted.reason === reason) &&
          (wanted.stage === undefined || wanted.stage === stage) &&
          (attempt ?? 0) >= (wanted.attempt ?? 0)
        )
      })
    return {
      ...{ pool, warnings, outlay, reach },
      async [Symbol.asyncDispose]() {
        await engine.stop()
        await gateway.close?.()
        await pool.end()
      },
    }
  }

  const cases: readonly (readonly [string, Partial<HttpGatewayOptions>, string, RegExp, RegExp])[] = [
    [
      'a refused connection',
      { baseUrl: `http://127.0.0.1:${unusedPort}` },
      'unreachable',
      /ECONNREFUSED/,
      /port of baseUrl/,
    ],
    [
      'a host without an address',
      { baseUrl: 'https://no-such-host.invalid' },
      'unreachable',
      /no address|EAI_AGAIN/,
      /DNS/,
    ],
    ['a wrong path', { baseUrl: `http://127.0.0.1:${port}/v9` }, 'misconfigured', /HTTP 404/, /path of baseUrl/],
    [
      'a wrong path behind the token',
      { baseUrl: `http://127.0.0.1:${port}/v9`, tokenUrl: `http://127.0.0.1:${port}/oauth2/token` },
      ...(['misconfigured', /HTTP 404; is the path of baseUrl right/, /path of baseUrl/] as const),
    ],
    ['TLS to a port without it', { baseUrl: `https://127.0.0.1:${port}` }, 'misconfigured', /SSL/, /https/],
    [
      'an address of the account that is none',
      { baseUrl: () => 'nowhere' },
      'misconfigured',
      /address of the account/,
      /baseUrl/,
    ],
    [
      'a vault that fails',
      { credentials: () => Promise.reject(new TypeError('secret')) },
      ...(['credentials_unavailable', /TypeError/, /vault/] as const),
    ],
  ]
  async function expectReason(options: Partial<HttpGatewayOptions>, reason: string, said: RegExp, cure: RegExp) {
    await using host = await open(options)
    await host.reach({ reason, stage: 'queued', attempt: 2 })
    const { text } = await host.outlay('doctor')
    expect(text).toContain(reason)
    expect(text).toMatch(/1 transfer of acme.* for /)
    const { baseUrl } = options
    if (typeof baseUrl === 'string') expect(text).toContain(`by c1 ${new URL(baseUrl).origin}`)
    expect(text).toMatch(said)
    expect(text).toMatch(cure)
    // While an attempt is under way, it waits for that one's answer.
    await waitUntil(async () => said.test((await host.outlay('transfers', 'list', '--stuck')).text))
    expect(host.warnings).toMatchObject([{ reason, accountId: 'acme' }])
    expect(JSON.stringify(host.warnings)).not.toContain('secret')
  }
  it.each(cases)('has a reason of its own: %s', (_, ...expected) => expectReason(...expected))

  it.skipIf(certificate === undefined)(
    'has a reason of its own: a certificate that is not trusted (needs openssl)',
    () => expectReason({ baseUrl: `https://localhost:${tlsPort}` }, 'misconfigured', /SELF_SIGNED/, /certificate/),
  )

  it.skipIf(certificate === undefined)('has that reason where only polls meet it (needs openssl)', async () => {
    let baseUrl = `http://127.0.0.1:${port}`
    await using host = await open({ baseUrl: () => baseUrl, tokenUrl: `http://127.0.0.1:${port}/oauth2/token` })
    await host.reach({ stage: 'submitted' })
    baseUrl = `https://localhost:${tlsPort}`
    await host.pool.query('update outlay.transfer set next_poll_at = now()')
    await host.reach({ reason: 'misconfigured', stage: 'submitted' })
    expect(host.warnings).toMatchObject([{ reason: 'misconfigured', accountId: 'acme' }])
    const doctor = await host.outlay('doctor')
    expect(doctor.text).toMatch(/misconfigured\n.*1 submitted transfer of acme.*, whose status is not read, for /)
    expect(doctor.text).toContain('certificate')
    const { text } = await host.outlay('transfers', 'list', '--stuck')
    expect(text).toContain('a poll of its status: the gateway is not configured correctly')
    expect(text).toContain('certificate')
  })

  it('with a wrong secret: the credentials are refused, which the log says, too', async () => {
    await using host = await open({ baseUrl: `http://127.0.0.1:${port}/denying` })
    await host.reach({ reason: 'unauthenticated', attempt: 1 })
    expect(await host.outlay('doctor')).toMatchObject({ code: 1, text: expect.stringContaining('credentials_refused') })
    expect(host.warnings).toMatchObject([{ reason: 'unauthenticated', accountId: 'acme' }])
  })

  it('says in the log when it begins and when it ends, and since when in between', async () => {
    await using host = await open({ baseUrl: `http://127.0.0.1:${unusedPort}` })
    await host.reach({ reason: 'unreachable', attempt: 3 })
    await host.pool.query(`update outlay.attempt set claimed_at = claimed_at - interval '10 minutes' where attempt = 1`)
    const found = await host.outlay('doctor')
    expect(found).toMatchObject({ code: 1, text: expect.stringMatching(/SERIOUS {2}unreachable\n.*for 10m/) })
    const stuck = /unreachable +10m.*\n.*cannot be reached: .*ECONNREFUSED.*\n.*The same key goes out again/
    await waitUntil(async () => stuck.test((await host.outlay('transfers', 'list', '--stuck')).text))
    const late = createServer(serve)
    await listen(late, unusedPort)
    try {
      await host.reach({ stage: 'submitted' })
      expect(host.warnings.map(({ message }) => message)).toEqual([
        expect.stringContaining('cannot be reached'),
        expect.stringContaining('get through again'),
      ])
      expect((await host.outlay('doctor')).text).not.toContain('unreachable')
    } finally {
      late.close()
      late.closeAllConnections()
    }
  })
})
