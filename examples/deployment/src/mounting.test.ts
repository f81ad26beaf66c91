import { createServer } from 'node:http'
import { serve } from '@hono/node-server'
import { createProbes } from '@outlay/adapters-pg/probes'
import { openTelemetry } from '@outlay/opentelemetry'
import { prometheus } from '@outlay/opentelemetry/prometheus'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { close, listen } from './process.ts'

const metrics = prometheus()
openTelemetry({ meterProvider: metrics.meterProvider }).count(
  { name: 'outlay.mounted', unit: '{mount}', description: 'Mounts.' },
  1,
  {},
)
const engine = { workers: () => ({ phase: 'running' as const, loops: [] }), check: async () => undefined }
const probes = createProbes(engine, { metrics: metrics.handle })

/** Each kind of server with the probes below /ops; returns its address and what closes it. */
const servers: Readonly<Record<string, () => Promise<{ readonly url: string; close(): Promise<unknown> }>>> = {
  async 'node:http'() {
    const server = createServer(probes.listener)
    return { url: await listen(server, 0, '127.0.0.1'), close: () => close(server) }
  },
  async Express() {
    const server = createServer(express().use('/ops', probes.listener))
    return { url: await listen(server, 0, '127.0.0.1'), close: () => close(server) }
  },
  async Fastify() {
    const app = Fastify()
    app.get('/ops/*', (request, reply) => {
      reply.hijack()
      probes.listener(request.raw, reply.raw)
    })
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }), close: () => app.close() }
  },
  async Hono() {
    const app = new Hono().get('/ops/*', (c) => probes.fetch(c.req.raw))
    const listening = Promise.withResolvers<number>()
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => listening.resolve(port))
    return {
      url: `http://127.0.0.1:${await listening.promise}`,
      close: () => new Promise((resolve) => server.close(resolve)),
    }
  },
  async 'Hono, mounted below a prefix'() {
    const app = new Hono().mount('/ops', probes.fetch)
    const listening = Promise.withResolvers<number>()
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => listening.resolve(port))
    return {
      url: `http://127.0.0.1:${await listening.promise}`,
      close: () => new Promise((resolve) => server.close(resolve)),
    }
  },
}

it.each(Object.keys(servers))('probes and metrics answer on a server of %s', async (name) => {
  const server = await servers[name]?.()
  if (server === undefined) throw new Error('There is no such server.')
  try {
    const get = async (path: string) => {
      const response = await fetch(`${server.url}/ops${path}`, { headers: { connection: 'close' } })
      return [response.status, await response.text()] as const
    }
    expect(await get('/live')).toEqual([200, '{"live":true,"hung":[]}'])
    expect((await get('/ready'))[0]).toBe(200)
    expect((await get('/metrics'))[1]).toContain('outlay_mounted_total 1')
    expect((await get('/other'))[0]).toBe(404)
  } finally {
    await server.close()
  }
})
