import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { openSubject, readConformanceOptions, selectServiceCases, serviceCases } from './cases.ts'

const client = { clientId: 'client', clientSecret: 'secret', accountId: '0'.repeat(26) }

/** A service that grants every token and gives the same answer to every other request. */
async function startDullService(status: number, body: unknown) {
  const server = createServer((request, response) => {
    request.resume()
    const token = { access_token: 'token', token_type: 'bearer', expires_in: 3_600 }
    const isToken = request.url === '/oauth2/token'
    response.writeHead(isToken ? 200 : status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isToken ? token : body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => server.close())
  return openSubject({
    ...client,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    second: client,
    simulations: true,
    patienceMs: 10,
  })
}

describe('the cases of the service', () => {
  it.each([
    ['200 and nothing', 200, {}],
    ['201 and an id', 201, { id: '1'.repeat(26), status: 'pending' }],
    ['500', 500, { message: 'sorry' }],
  ])('fail, but for the one about tokens, at a service that answers %s to everything', async (_, status, body) => {
    const dull = await startDullService(status, body)
    const passed: string[] = []
    for (const { name, run } of serviceCases) {
      await run(dull).then(
        () => passed.push(name),
        () => undefined,
      )
    }
    expect(passed).toEqual(['client_credentials give a bearer token of about an hour'])
  })

  it('are skipped when their needs are not met', () => {
    const options = { ...client, baseUrl: 'http://127.0.0.1:9' }
    const all = selectServiceCases({ ...options, second: client, simulations: true })
    const few = selectServiceCases({ ...options, settled: false })
    const spoken = selectServiceCases({ ...options, second: client, simulations: true, dialect: 'public' })
    expect(new Set([...all, ...spoken])).toEqual(new Set(serviceCases))
    expect(all.filter((one) => !spoken.includes(one)).every(({ needs }) => needs.includes('specification'))).toBe(true)
    expect(few.length).toBeGreaterThan(30)
    expect(few.every(({ needs }) => needs.every((need) => need === 'specification'))).toBe(true)
  })
})

describe('the options of the suite', () => {
  const env = {
    OUTLAY_CONFORMANCE_BASE_URL: 'https://api.example/v1/',
    OUTLAY_CONFORMANCE_CLIENT_ID: 'client',
    OUTLAY_CONFORMANCE_CLIENT_SECRET: 'secret',
    OUTLAY_CONFORMANCE_ACCOUNT_ID: client.accountId,
  }

  it('are read from the environment', () => {
    expect(readConformanceOptions(env)).toMatchObject({
      ...client,
      baseUrl: 'https://api.example/v1',
      second: undefined,
    })
  })

  it('are refused when one is missing, by its name', () => {
    expect(() => readConformanceOptions({ ...env, OUTLAY_CONFORMANCE_ACCOUNT_ID: '' })).toThrow(/ACCOUNT_ID/)
  })
})
