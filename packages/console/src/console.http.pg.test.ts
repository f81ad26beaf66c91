import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { admin, consoleHost, type Json, send } from '../test/host.ts'
import { maxBodyBytes } from './http/body.ts'

describe('the console over HTTP', async () => {
  const host = await consoleHost()
  const { call, enqueue, engine, pool } = host
  const reason = 'a test of requests'
  const waitingForLocks = async () =>
    (await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
      .rows.length
  const none = { 'x-outlay-console': '' }

  it('refuses an action that a page of another site may have sent', async () => {
    const { id } = await enqueue()
    const hold = async (headers: Readonly<Record<string, string>>) =>
      (await call(`POST /transfers/${id}/hold`, { body: { reason }, headers })).status
    expect(await hold(none)).toBe(403)
    for (const site of ['cross-site', 'same-site', 'odd']) expect(await hold({ 'sec-fetch-site': site })).toBe(403)
    expect(await hold({ ...none, 'sec-fetch-site': 'none' })).toBe(403)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp'])
      expect(await hold({ 'content-type': type })).toBe(415)
    expect(await engine.audit.list()).toEqual([])
    expect(await hold({ ...none, 'sec-fetch-site': 'same-origin' })).toBe(200)
    expect((await call('GET /transfers', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
  })

  it('gives no other origin leave, whatever it asks', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    expect((await call('OPTIONS /transfers', { headers })).status).toBe(405)
    expect((await call('GET /transfers', { headers })).headers.get('access-control-allow-origin')).toBe(null)
  })

  it('refuses bodies that are none, too large, too deep or cannot be stored, and names the member', async () => {
    const { id } = await enqueue()
    const hold = (body: unknown) => call(`POST /transfers/${id}/hold`, { body })
    expect((await hold('{')).status).toBe(400)
    expect((await hold('{ "reason": "x", "__proto__": {} }')).json).toMatchObject({ status: 422 })
    expect((await call('GET /transfers?metadata[__proto__]=x&metadata[a]=b')).status).toBe(422)
    expect((await hold(`"${'x'.repeat(maxBodyBytes)}"`)).status).toBe(413)
    expect((await hold(`${'['.repeat(40)}${']'.repeat(40)}`)).status).toBe(400)
    expect((await hold({ reason: 'a\0b' })).json).toMatchObject({
      status: 422,
      errors: [{ source: { pointer: '/reason' } }],
    })
    expect((await hold({ reason: '\ud800' })).status).toBe(422)
    expect((await hold({})).json).toMatchObject({
      ...{ status: 422, code: 'missing_field' },
      errors: [{ code: 'missing_field', source: { pointer: '/reason' } }],
    })
    expect((await hold({ reason, why: 1 })).json).toMatchObject({ errors: [{ source: { pointer: '/why' } }] })
    expect(await engine.audit.list()).toEqual([])
  })

  it('refuses parameters that it does not have, twice the same, and cursors that are none', async () => {
    const parameter = async (query: string) => (await call<Json>(`GET /transfers?${query}`)).json
    const about = (name: string) => ({ status: 422, errors: [{ source: { parameter: name } }] })
    expect(await parameter('acountId=a')).toMatchObject(about('acountId'))
    expect(await parameter('stage=queued&stage=held')).toMatchObject(about('stage'))
    expect(await parameter('stage=qeued')).toMatchObject(about('stage'))
    expect(await parameter('cursor=7')).toMatchObject(about('cursor'))
    expect(await parameter('createdAfter=yesterday')).toMatchObject(about('createdAfter'))
    expect(await parameter('limit=0')).toMatchObject(about('limit'))
    expect(
      await parameter('metadata[a]=1&metadata[b]=1&metadata[c]=1&metadata[d]=1&metadata[e]=1&metadata[f]=1'),
    ).toMatchObject(about('metadata'))
    expect(await parameter('reason=%00')).toMatchObject(about('reason'))
    expect(await parameter('__proto__=1')).toMatchObject(about('__proto__'))
  })

  it('says which methods an address has, finds nothing elsewhere, and answers HEAD', async () => {
    const refused = await call('DELETE /transfers')
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET'])
    for (const line of ['GET /', 'GET /nothing', 'GET /transfers/%ff', 'GET /transfers/../../etc'])
      expect((await call(line)).status).toBe(404)
    expect(await call('HEAD /transfers')).toMatchObject({ status: 200, text: '' })
  })

  it('limits the requests of each person by itself', async () => {
    const url = await host.serve({ rateLimit: { perSecond: 0.01, burst: 2 } })
    const ask = (actor: string) => send(url, 'GET /me', { as: { ...admin, actor } })
    expect([(await ask('ada')).status, (await ask('ada')).status]).toEqual([200, 200])
    const refused = await ask('ada')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60)
    expect((await ask('bert')).status).toBe(200)
  })

  it('does not wait long behind a transaction that a host keeps open, and changes nothing', async () => {
    const { id } = await enqueue()
    const url = await host.serve({ timeoutMs: 60_000 })
    const open = await pool.connect()
    await open.query('begin')
    await open.query('select from outlay.transfer where id = $1 for update', [id])
    const { json } = await send(url, `POST /transfers/${id}/hold`, { body: { reason } })
    expect(json).toMatchObject({ status: 503, detail: expect.stringContaining('Nothing was changed') })
    await open.query('rollback')
    open.release()
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await engine.audit.list()).toEqual([])
  })

  it('takes no more connections than it may, and makes others wait for their turn', async () => {
    const url = await host.serve({ concurrency: 1, timeoutMs: 60_000 })
    const { id } = await enqueue()
    const open = await pool.connect()
    await open.query('begin')
    await open.query('select from outlay.transfer where id = $1 for update', [id])
    const holding = send(url, `POST /transfers/${id}/hold`, { body: { reason } })
    await waitUntil(async () => (await waitingForLocks()) === 1)
    const others = [send(url, `POST /transfers/${id}/hold`, { body: { reason } }), send(url, 'GET /transfers')]
    await send(url, 'GET /me', { as: null })
    expect(await waitingForLocks()).toBe(1)
    await open.query('rollback')
    open.release()
    const answers = await Promise.all([holding, ...others])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers[1]?.json).toMatchObject({ changed: false })
  })

  it('gives up code that hangs, and says that the outcome is not known', async () => {
    const { id } = await enqueue()
    const hanging = { ...engine, transfers: { ...engine.transfers, compare: () => new Promise<never>(() => {}) } }
    const url = await host.serve({ engine: hanging, timeoutMs: 300 })
    const { json } = await send(url, `POST /transfers/${id}/resolve`, { body: { reason, remoteId: 'r' } })
    expect(json).toMatchObject({ status: 503, detail: expect.stringContaining('may have been done') })
  })

  it('gives up a body that does not end, and serves others meanwhile', async () => {
    const url = new URL(await host.serve({ timeoutMs: 4_000, concurrency: 1 }))
    const { id } = await enqueue()
    const headers = {
      ...{ 'content-type': 'application/json', 'x-outlay-console': '1', connection: 'close' },
      'x-test-person': JSON.stringify(admin),
    }
    const path = `/api/transfers/${id}/hold`
    const sent = httpRequest({ hostname: url.hostname, port: url.port, method: 'POST', path, headers })
    const answered = new Promise<number | undefined>((resolve, reject) => {
      sent.on('error', reject).on('response', ({ statusCode }) => resolve(statusCode))
    })
    answered.catch(() => undefined)
    sent.write('{"reason":')
    for (let at = 0; at < 3; at += 1) expect((await send(url.origin, 'GET /transfers')).status).toBe(200)
    expect([400, 503]).toContain(await answered)
    sent.destroy()
  })

  it('takes a body that a parser of the server has read', async () => {
    const { id } = await enqueue()
    const { listener } = host.make()
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          listener(Object.assign(request, { body: JSON.parse(Buffer.concat(chunks).toString()) as unknown }), response)
        })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect((await send(url, `POST /transfers/${id}/hold`, { body: { reason } })).status).toBe(200)
    server.close()
  })

  it('answers 500 without the text of an error, which the log has with the id of the request', async () => {
    const { id } = await enqueue()
    const fail = () => Promise.reject(new Error('a column "pin" with password=hunter2'))
    const url = await host.serve({ engine: { ...engine, transfers: { ...engine.transfers, hold: fail } } })
    const { json, text } = await send<{ requestId: string }>(url, `POST /transfers/${id}/hold`, { body: { reason } })
    expect(json).toMatchObject({ status: 500, code: 'internal_error' })
    expect(text).not.toContain('pin')
    const entry = host.logger.entries.find(({ fields }) => fields['requestId'] === json.requestId)
    expect(entry?.fields['error']).toBe('Error: a column "pin" with password=[hidden]')
  })

  it('is below a prefix that a server leaves in the address', async () => {
    const admin = host.make({
      basePath: '/ops/outlay',
      authorize: () => ({ actor: 'ada', permissions: { read: 'all' } }),
    })
    const get = async (path: string) => (await admin.fetch(new Request(`http://localhost${path}`))).status
    expect(await get('/ops/outlay/api/me')).toBe(200)
    expect(await get('/api/me')).toBe(200)
    expect(await get('/ops/outlayapi/me')).toBe(404)
  })

  it('refuses options that it does not have', () => {
    const make = (options: object) => () => host.make(options)
    expect(make({ authorise: () => null })).toThrow('authorise')
    expect(make({ authorize: undefined })).toThrow('authorize')
    expect(make({ basePath: 'ops/' })).toThrow('basePath')
    expect(make({ timeoutMs: 0 })).toThrow('timeoutMs')
    expect(make({ rateLimit: { perSecond: 1, bust: 2 } })).toThrow('bust')
    expect(make({ rateLimit: { perSecond: 0, burst: 2 } })).toThrow('perSecond')
  })
})
