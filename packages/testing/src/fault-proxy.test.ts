import { Agent, createServer, request as open } from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { listenOnLoopback } from './free-port.ts'
import { waitUntil } from './harness.ts'

/** What the target has acted on, oldest first. */
let acted: string[]
let connections: number
let proxy: FaultProxy
let closeTarget: () => Promise<unknown>
const client = new Agent({ keepAlive: true })

beforeEach(async () => {
  acted = []
  connections = 0
  const target = createServer(async (request, response) => {
    const body = await buffer(request)
    acted.push(`${request.method} ${request.url} ${body.length > 40 ? body.length : body}`.trim())
    response.writeHead(201, 'Made', { 'x-twice': ['a', 'b'], 'content-type': 'text/plain' })
    response.end(`made ${acted.length}`)
  })
  target.on('connection', () => {
    connections += 1
  })
  const port = await listenOnLoopback(target)
  closeTarget = () =>
    new Promise((resolve) => {
      target.close(resolve)
      target.closeAllConnections()
    })
  proxy = await startFaultProxy({ target: `http://127.0.0.1:${port}` })
})

afterEach(async () => {
  await proxy.stop()
  await closeTarget()
})

interface Answer {
  readonly status: number | undefined
  readonly headers: Record<string, unknown>
  readonly body: string
}

function send(method: string, path: string, body = '', signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = open(
      `${proxy.url}${path}`,
      { method, agent: client, ...(signal ? { signal } : {}) },
      (response) => {
        text(response).then(
          (said) => resolve({ status: response.statusCode, headers: response.headers, body: said }),
          reject,
        )
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

const post = (path = '/transfers', body = 'x') => send('POST', path, body)

describe('without rules', () => {
  test('everything arrives unchanged, over persistent connections', async () => {
    expect(await post('/transfers?a=1', 'hello')).toMatchObject({
      status: 201,
      headers: { 'x-twice': 'a, b', 'content-type': 'text/plain' },
      body: 'made 1',
    })
    await post()
    await send('GET', '/accounts')
    expect(acted).toEqual(['POST /transfers?a=1 hello', 'POST /transfers x', 'GET /accounts'])
    expect(connections).toBe(1)
    expect(proxy.faults.seen).toBe(3)
  })

  test('a large body passes whole', async () => {
    await post('/large', 'y'.repeat(3_000_000))
    expect(acted).toEqual(['POST /large 3000000'])
  })

  test('an unreachable target is a reset', async () => {
    await closeTarget()
    await expect(post()).rejects.toThrow()
  })
})

describe('a rule', () => {
  test('drops a request before the target sees it', async () => {
    const rule = proxy.faults.add({ method: 'post', nth: 2, fault: { kind: 'drop_request' } })
    await post()
    await expect(post()).rejects.toThrow(/ECONNRESET|hang up/)
    await post()
    expect(acted).toHaveLength(2)
    expect(rule).toMatchObject({ matched: 3, applied: 1 })
  })

  test('drops the answer when the target has acted', async () => {
    proxy.faults.add({ path: '/transfers', times: 1, fault: { kind: 'drop_response' } })
    await expect(post()).rejects.toThrow(/ECONNRESET|hang up/)
    expect(acted).toHaveLength(1)
    expect((await post()).body).toBe('made 2')
  })

  test('resets in the middle of the answer', async () => {
    proxy.faults.add({ fault: { kind: 'reset_body' } })
    await expect(post()).rejects.toThrow(/ECONNRESET|aborted/)
    expect(acted).toHaveLength(1)
  })

  test('answers 500 although the target has acted', async () => {
    proxy.faults.add({ path: /fers$/, fault: { kind: 'fail_after' } })
    expect(await post()).toMatchObject({ status: 500, headers: { 'content-type': 'application/problem+json' } })
    expect(acted).toHaveLength(1)
    expect((await post('/accounts')).status).toBe(201)
  })

  test('refuses with Retry-After and the target sees nothing', async () => {
    const rule = proxy.faults.add({ path: (path) => path.length > 3, fault: { kind: 'refuse', retryAfterSeconds: 7 } })
    expect(await post()).toMatchObject({ status: 429, headers: { 'retry-after': '7' } })
    expect(acted).toHaveLength(0)
    rule.remove()
    expect((await post()).status).toBe(201)
  })

  test('delays requests and answers', async () => {
    proxy.faults.add({ fault: { kind: 'delay_request', ms: 30 } })
    proxy.faults.add({ fault: { kind: 'delay_response', ms: 40 } })
    proxy.faults.add({ fault: { kind: 'fail_after', status: 503 } })
    const began = performance.now()
    expect((await post()).status).toBe(503)
    expect(performance.now() - began).toBeGreaterThanOrEqual(69)
  })

  test('with a probability affects the same requests for the same seed', async () => {
    const run = async () => {
      await using seeded = await startFaultProxy({ target: proxy.url })
      const rule = seeded.faults.add({ probability: 0.5, fault: { kind: 'refuse' } })
      const statuses: number[] = []
      for (let at = 0; at < 20; at++) statuses.push((await fetch(seeded.url)).status)
      expect(rule.applied).toBe(statuses.filter((status) => status === 429).length)
      return statuses
    }
    const first = await run()
    expect(new Set(first)).toEqual(new Set([201, 429]))
    expect(await run()).toEqual(first)
  })

  test('matches by every given member', async () => {
    proxy.faults.add({
      where: ({ headers }) => headers['content-length'] === '2',
      fault: { kind: 'refuse', status: 503 },
    })
    expect((await post('/', 'ab')).status).toBe(503)
    expect((await post('/', 'abc')).status).toBe(201)
  })
})

describe('a hold', () => {
  test('stops requests before the target until it is released', async () => {
    const hold = proxy.faults.hold({ method: 'POST' })
    const answers = [post('/a'), post('/b')]
    await hold.waitFor(2)
    await send('GET', '/free')
    expect(acted).toEqual(['GET /free'])
    hold.release()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201])
    await post()
    expect(hold.arrived).toBe(2)
  })

  test('stops answers when the target has acted', async () => {
    const hold = proxy.faults.hold({ at: 'response' })
    const answer = post()
    await hold.waitFor(1)
    expect(acted).toHaveLength(1)
    hold.release()
    expect((await answer).body).toBe('made 1')
  })

  test('drops a request whose client has disconnected, or delivers it late', async () => {
    for (const deliverLate of [false, true]) {
      acted.length = 0
      const hold = proxy.faults.hold({ deliverLate })
      const gone = new AbortController()
      const answer = send('POST', '/late', 'body', gone.signal)
      await hold.waitFor(1)
      const open = proxy.connections
      gone.abort()
      await expect(answer).rejects.toThrow('aborted')
      await waitUntil(() => proxy.connections < open)
      hold.release()
      await post('/after')
      if (deliverLate) await waitUntil(() => acted.includes('POST /late body'))
      else expect(acted).toEqual(['POST /after x'])
    }
  })

  test('reports how many arrived when too few did', async () => {
    await expect(proxy.faults.hold().waitFor(1, 20)).rejects.toThrow('1 requests to be held; 0 were')
  })
})

test('a cut network fails everything until it heals', async () => {
  const hold = proxy.faults.hold()
  const held = post()
  const lost = expect(held).rejects.toThrow(/ECONNRESET|hang up/)
  await hold.waitFor(1)
  proxy.cut()
  await lost
  await expect(post()).rejects.toThrow(/ECONNRESET|hang up/)
  hold.release()
  proxy.heal()
  expect((await post('/healed')).status).toBe(201)
  expect(acted).toEqual(['POST /healed x'])
})

test('clear removes all rules and releases all holds', async () => {
  proxy.faults.add({ method: 'DELETE', fault: { kind: 'refuse' } })
  const hold = proxy.faults.hold()
  const answer = post()
  await hold.waitFor(1)
  proxy.faults.clear()
  expect((await answer).status).toBe(201)
  expect((await send('DELETE', '/')).status).toBe(201)
})

test('only http is supported', async () => {
  await expect(startFaultProxy({ target: 'https://127.0.0.1:1' })).rejects.toThrow('speaks http only')
})
