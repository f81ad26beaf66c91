import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LoopProgress } from '@outlay/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createProbes, type ProbesOptions } from './probes.ts'

const hanging: LoopProgress = { name: 'dispatch', turns: 3, turnMs: 300_001, hostMs: 0 }

type OpenOptions = ProbesOptions & { readonly loops?: readonly LoopProgress[]; readonly check?: () => Promise<void> }

const open = (options: OpenOptions = {}) => {
  const { loops = [], check = async () => undefined, ...others } = options
  const engine = { workers: () => ({ phase: 'running' as const, loops }), check }
  return createProbes(engine, others)
}

async function serve(listener: ReturnType<typeof open>['listener']) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
}

const get = async (probes: ReturnType<typeof open>, path: string, init?: RequestInit) => {
  const response = await probes.fetch(new Request(`http://host${path}`, init))
  return [response.status, await response.text()]
}

describe('probes', () => {
  it('answer below any prefix, and nothing else', async () => {
    const probes = open()
    for (const prefix of ['', '/ops', '/a/b']) {
      expect(await get(probes, `${prefix}/live`)).toEqual([200, '{"live":true,"hung":[]}'])
      expect((await get(probes, `${prefix}/ready?now`))[0]).toBe(200)
    }
    for (const path of ['/', '/alive', '/live/x', '/metrics']) expect((await get(probes, path))[0]).toBe(404)
    expect((await get(probes, '/live', { method: 'POST' }))[0]).toBe(405)
  })

  it('name the loop that hangs', async () => {
    expect(await get(open({ loops: [hanging] }), '/live')).toEqual([
      503,
      '{"live":false,"hung":[{"name":"dispatch","forMs":300001}]}',
    ])
    expect((await get(open({ loops: [hanging], hungAfterMs: 300_001 }), '/live'))[0]).toBe(200)
  })

  it('say what waits for a database that does not answer, which is alive', async () => {
    const away = open({ loops: [hanging], check: () => Promise.reject(new Error('gone')) })
    expect(await get(away, '/live')).toEqual([
      200,
      '{"live":true,"hung":[],"waiting":[{"name":"dispatch","forMs":300001}]}',
    ])
    expect((await get(away, '/ready'))[0]).toBe(503)
  })

  it('pass /metrics to its handler', async () => {
    expect(await get(open({ metrics: () => new Response('up 1\n') }), '/ops/metrics')).toEqual([200, 'up 1\n'])
  })

  it('refuse an option that does not exist, and a time that is none', () => {
    expect(() => open({ hungAfter: 1 } as ProbesOptions)).toThrow('hungAfter')
    expect(() => open({ timeoutMs: Number.NaN })).toThrow('timeoutMs')
  })
})

describe('probes on a server of Node', () => {
  it('answer with status, type and length, and HEAD without a body', async () => {
    const call = await serve(open({ loops: [hanging] }).listener)
    const live = await call('/live')
    expect([live.status, live.headers.get('content-type'), live.headers.get('cache-control')]).toEqual([
      503,
      'application/json',
      'no-store',
    ])
    expect(JSON.parse(live.text)).toMatchObject({ live: false })
    const head = await call('/ready', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('answer a path that would name another host, and a handler that throws', async () => {
    const call = await serve(
      open({
        metrics() {
          throw new Error('secret')
        },
      }).listener,
    )
    expect((await call('//evil.example/live')).status).toBe(200)
    const failed = await call('/metrics')
    expect([failed.status, failed.text]).toEqual([500, ''])
  })
})
