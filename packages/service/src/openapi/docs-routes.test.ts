import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { createService } from '../service.ts'

const pool = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' })
afterAll(() => pool.end())
const service = createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32) })
const get = (url: string) => service.fetch(new Request(url))

it.each(['http://test/docs', 'http://test/docs/'])('%s shows the page and everything that it loads', async (url) => {
  const page = await get(url)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toContain('text/html')
  const html = await page.text()
  const links = [...html.matchAll(/(?:src|href|data-document)="([^"]+)"/g)].flatMap(([, link]) => link ?? [])
  expect(links).toHaveLength(5)
  for (const link of links) {
    const target = new URL(link, url)
    expect(target.origin).toBe('http://test')
    expect((await get(target.href)).status, target.href).toBe(200)
  }
})

it('refers to no other origin, and forbids others', async () => {
  const page = await get('http://test/docs')
  expect((await page.text()).match(/https?:|\/\//g)).toBeNull()
  expect((await (await get('http://test/docs/start.js')).text()).match(/https?:|['"]\/\//g)).toBeNull()
  const css = await (await get('http://test/docs/swagger-ui.css')).text()
  const foreign = [...css.matchAll(/(?:url\(|@import\s)['"]?([^'")\s]+)/g)].filter(
    ([, url]) => !url?.startsWith('data:'),
  )
  expect(foreign).toEqual([])
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  const sources = policy.split(';').flatMap((directive) => directive.trim().split(' ').slice(1))
  expect(sources.filter((source) => !["'none'", "'self'", "'unsafe-inline'", 'data:'].includes(source))).toEqual([])
  expect(policy).not.toMatch(/script-src[^;]*unsafe/)
})

it('serves only the assets of the page', async () => {
  for (const name of ['package.json', 'index.html', '..%2fpackage.json', 'swagger-ui-bundle.js.map'])
    expect((await get(`http://test/docs/${name}`)).status, name).toBe(404)
})
