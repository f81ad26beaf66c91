import 'reflect-metadata'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type INestApplication, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { consoleHost, send } from '../test/host.ts'
import type { Console } from './console.ts'

interface Mounted {
  readonly url: string
  close(): unknown
}

async function listen(listener: RequestListener): Promise<Mounted> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

class NestHost {}
Module({})(NestHost)

async function listenNest(app: INestApplication, admin: Console): Promise<Mounted> {
  app.use('/ops', admin.listener)
  await app.listen(0, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close() }
}

/** Each kind of server with the console below /ops. */
const servers: Readonly<Record<string, (admin: Console) => Promise<Mounted>>> = {
  'node:http': (admin) => listen(admin.listener),
  Express: (admin) => listen(express().use('/ops', admin.listener)),
  'Express behind a parser of JSON': (admin) => listen(express().use(express.json()).use('/ops', admin.listener)),
  async Fastify(admin) {
    const app = Fastify()
    app.all('/ops/*', (request, reply) => {
      reply.hijack()
      admin.listener(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }), close: () => app.close() }
  },
  'Nest on Express': async (admin) => listenNest(await NestFactory.create(NestHost, { logger: false }), admin),
  'Nest on Fastify': async (admin) =>
    listenNest(await NestFactory.create(NestHost, new FastifyAdapter(), { logger: false }), admin),
  async Hono(admin) {
    const app = new Hono().mount('/ops', admin.fetch)
    const listening = Promise.withResolvers<number>()
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => listening.resolve(port))
    return { url: `http://127.0.0.1:${await listening.promise}`, close: () => server.close() }
  },
  async 'a route that gets the whole address, as that of Next'(admin) {
    const app = new Hono().all('/ops/*', (c) => admin.fetch(c.req.raw))
    const listening = Promise.withResolvers<number>()
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => listening.resolve(port))
    return { url: `http://127.0.0.1:${await listening.promise}`, close: () => server.close() }
  },
}

describe('the console is mounted in one line', async () => {
  const host = await consoleHost()

  it.each(Object.keys(servers))('on a server of %s', async (name) => {
    const mounted = await servers[name]?.(host.make({ basePath: '/ops' }))
    if (mounted === undefined) throw new Error('There is no such server.')
    try {
      const url = `${mounted.url}/ops`
      const { id } = await host.enqueue()
      expect((await send(url, 'GET /transfers?limit=5')).json).toMatchObject({ transfers: [{ id }] })
      const held = await send(url, `POST /transfers/${id}/hold`, { body: { reason: 'it is odd — ü' } })
      expect(held).toMatchObject({ status: 200, json: { held: { holds: [{ why: 'it is odd — ü' }] } } })
      expect((await send(url, 'GET /transfers', { as: null })).status).toBe(401)
      expect((await send(url, 'GET /nothing')).status).toBe(404)
    } finally {
      await mounted.close()
    }
  })
})
