import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { consoleHost } from '../../test/host.ts'
import { files } from '../generated/pages.ts'

const most = 250 * 1024

const bytesOf = ({ gzip }: { readonly gzip: string }) => Buffer.from(gzip, 'base64')

describe('the pages', async () => {
  const host = await consoleHost()
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    host.make().fetch(new Request(`http://localhost${path}`, { headers }))

  it('are less than 250 kB in all, compressed', () => {
    const sizes = Object.values(files).map((file) => bytesOf(file).byteLength)
    expect(sizes.length).toBeGreaterThan(2)
    expect(sizes.reduce((sum, one) => sum + one, 0)).toBeLessThan(most)
  })

  it('are answered to everybody, also to who comes by a link, under a policy without exceptions', async () => {
    const page = await get('/transfers', { 'sec-fetch-site': 'cross-site' })
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const html = await page.text()
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style| on[a-z]+=/)
  })

  it('have files that never change, in gzip for who takes it', async () => {
    const name = Object.keys(files).find((one) => one.endsWith('.js')) ?? ''
    const zipped = await get(`/${name}`, { 'accept-encoding': 'gzip, br' })
    expect(zipped.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    const plain = await get(`/${name}`, { 'accept-encoding': 'gzip;q=0' })
    expect(plain.headers.get('content-encoding')).toBe(null)
    expect(await plain.text()).toBe(gunzipSync(Buffer.from(await zipped.arrayBuffer())).toString())
    expect((await get('/assets/__proto__')).status).toBe(401)
    expect((await get('/nothing')).status).toBe(401)
  })

  it.each([
    ['/transfers', './'],
    ['/transfers/01K', '../'],
    ['/accounts/a%2Fb', '../'],
    ['/transfers/', '../'],
  ])('say at %s where their start is', async (path, base) => {
    expect(await (await get(path)).text()).toContain(`<base href="${base}">`)
  })

  it('begin with the overview, below any mount, with a slash at its end and without', async () => {
    const server = createServer(express().use('/ops', host.make().listener))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      for (const path of ['/ops', '/ops/']) expect((await fetch(`${url}${path}`)).url).toBe(`${url}/ops/overview`)
    } finally {
      server.close()
    }
    const hono = new Hono().mount('/ops', host.make({ basePath: '/ops' }).fetch)
    expect((await hono.request('/ops')).headers.get('location')).toBe('/ops/overview')
    expect((await hono.request('/ops/transfers')).status).toBe(200)
  })
})
